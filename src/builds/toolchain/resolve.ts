/**
 * From what an app wants to exact versions. What the machine has is good enough if it fits, and so is what the last build
 * used: the registry is asked only when neither will do.
 */
import semver from 'semver'
import type { Problem } from '../../contract/index.ts'
import { choose, fits, isRange } from './choose.ts'
import {
  type Exact,
  isClassicYarn,
  type ManagerName,
  managerPackage,
  nodePackage,
  npmFor,
  type Tool,
  toolTitle,
  type Wanted,
} from './exact.ts'
import type { Lists } from './lists.ts'
import { noSuchNode, noSuchVersion, notAvailable } from './problems.ts'
import { NEVER } from './shared.ts'

export type Resolved = {
  exact: Exact
  /** Sentences for people, about what is not as they asked. */
  notes: string[]
}

type Parts = {
  arch: string
  ownNode: string
  /** `node` is what it runs on, as a range. */
  npmOfMachine(): Promise<{ version: string; node: string }>
  lists: Lists
  /** Versions of a package that were fetched before. */
  fetched(name: string): Promise<string[]>
}

type Options = {
  /** What the environment's last build used: kept while it fits and is here. */
  before?: Exact | null | undefined
  /** Chooses anew, whatever was used before. */
  isFresh: boolean
  signal?: AbortSignal
}

type Question = {
  name: Tool['name']
  package: string
  range: string
  /** What is here without having been fetched. */
  local: string[]
  isOffered(version: string): boolean
  /** Said where there is none. */
  absent(listed: readonly string[]): Problem
  before: string | undefined
  signal: AbortSignal
}

export function createResolver({ arch, ownNode, npmOfMachine, lists, fetched }: Parts) {
  async function answer(question: Question): Promise<{ version: string; note?: string }> {
    const { name, range, local, before, signal } = question
    const here = [...local, ...(await fetched(question.package)).filter(question.isOffered)]
    if (before !== undefined && here.includes(before) && fits(before, range)) return { version: before }
    const own = local.find((version) => fits(version, range))
    if (own !== undefined) return { version: own }

    let listed: string[]
    try {
      listed = (await lists.of(question.package, signal)).filter(question.isOffered)
    } catch (error) {
      signal.throwIfAborted()
      const version = withoutRegistry(question, here)
      if (version === undefined) throw notAvailable(titled(name, range), error)
      return { version, note: `The registry does not answer: ${titled(name, version)} is used, which is here.` }
    }
    const choice = choose(range, listed)
    if (choice?.fits) return { version: choice.version }
    // What is not as it should be need not be fetched, too.
    const near = choose(range, local) ?? choice
    if (near === undefined) throw question.absent(listed)
    return { version: near.version, note: `${titled(name, range)} is not in the registry: ${near.version} is used.` }
  }

  function answerNode({ node, nodeSetBy }: Wanted, before: string | undefined, signal: AbortSignal) {
    const absent = (listed: readonly string[]) => noSuchNode(node, nodeSetBy, [ownNode, ...listed])
    if (!isRange(node)) throw absent([])
    return answer({
      name: 'node',
      package: nodePackage(arch),
      range: rangeIn(node),
      local: [ownNode],
      isOffered: () => true,
      absent,
      before,
      signal,
    })
  }

  async function answerManager(name: ManagerName, given: string, before: Exact | undefined, signal: AbortSignal) {
    const absent = () => noSuchVersion(toolTitle({ name, version: '' }).trim(), given)
    if (!isRange(given)) throw absent()
    const range = rangeIn(given)
    return answer({
      name,
      package: managerPackage(name, range, arch),
      range,
      local: name === 'npm' ? [(await npmOfMachine()).version] : [],
      // Under its old name Yarn has a few versions that were never meant for use.
      isOffered: (version) => name !== 'yarn' || isClassicYarn(range) === (semver.major(version) === 1),
      absent,
      before: managerBefore(before, name, range),
      signal,
    })
  }

  /**
   * An app that leaves the npm open gets one that runs on its Node. The machine's would run on the service's Node, and hold what
   * packages need against that.
   */
  async function onNode(node: string, name: ManagerName, range: string): Promise<string> {
    if (name !== 'npm' || rangeIn(range) !== '*' || fits(node, (await npmOfMachine()).node)) return range
    return npmFor(node) ?? range
  }

  return {
    async resolve(wanted: Wanted, { before, isFresh, signal = NEVER }: Options): Promise<Resolved> {
      const kept = isFresh || !before ? undefined : before
      const { name, version } = wanted.packageManager ?? {}
      const node = await answerNode(wanted, kept?.node, signal)
      const manager =
        name === undefined || version === undefined
          ? undefined
          : await answerManager(name, await onNode(node.version, name, version), kept, signal)
      return {
        exact: {
          node: node.version,
          packageManager: name === undefined || manager === undefined ? null : { name, version: manager.version },
        },
        notes: [node.note, manager?.note].filter((note) => note !== undefined),
      }
    },
  }
}

/** One that fits; else what the last build used in place of one that the registry does not have. */
function withoutRegistry({ range, before }: Question, here: readonly string[]): string | undefined {
  const choice = choose(range, here)
  if (choice?.fits) return choice.version
  return before !== undefined && here.includes(before) ? choose(range, [before])?.version : undefined
}

/** Whoever does not care about npm gets the one of the machine, as it is now. */
function managerBefore(kept: Exact | undefined, name: ManagerName, range: string): string | undefined {
  if (name === 'npm' && range === '*') return undefined
  return kept?.packageManager?.name === name ? kept.packageManager.version : undefined
}

const rangeIn = (text: string): string => text.trim() || '*'

const titled = (name: Tool['name'], version: string): string => toolTitle({ name, version })

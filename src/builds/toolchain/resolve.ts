/**
 * Resolves the ranges of an app to exact versions. A version of the machine is used if it fits, and so is that of the last
 * build: the registry is asked only when neither fits.
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
  /** Sentences for the tenant about versions that differ from the requested ones. */
  notes: string[]
}

type Parts = {
  arch: string
  ownNode: string
  /** `node` is the range of versions that it runs on. */
  npmOfMachine(): Promise<{ version: string; node: string }>
  lists: Lists
  /** Versions of a package that were fetched before. */
  fetched(name: string): Promise<string[]>
}

type Options = {
  /** The versions of the environment's last build: used again while they fit and are available. */
  before?: Exact | null | undefined
  /** Ignores `before`. */
  isFresh: boolean
  signal?: AbortSignal
}

type Question = {
  name: Tool['name']
  package: string
  range: string
  /** Versions that are available without being fetched. */
  local: string[]
  isOffered(version: string): boolean
  /** The problem where no version exists. */
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
      return {
        version,
        note: `The registry does not answer: ${titled(name, version)} is used, which is available here.`,
      }
    }
    const choice = choose(range, listed)
    if (choice?.fits) return { version: choice.version }
    // Where no version fits, a local one of the same major version is preferred.
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
      // Under its old name Yarn has a few versions after 1 that were never meant for use.
      isOffered: (version) => name !== 'yarn' || isClassicYarn(range) === (semver.major(version) === 1),
      absent,
      before: managerBefore(before, name, range),
      signal,
    })
  }

  /**
   * An app that sets no version of npm gets one that runs on its Node. The machine's npm would run on the service's Node, and
   * compare the `engines` of packages with that.
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

/** An available version that fits; else the version that the last build used instead of one that the registry lacks. */
function withoutRegistry({ range, before }: Question, here: readonly string[]): string | undefined {
  const choice = choose(range, here)
  if (choice?.fits) return choice.version
  return before !== undefined && here.includes(before) ? choose(range, [before])?.version : undefined
}

/** An app that sets no version of npm gets the current npm of the machine. */
function managerBefore(kept: Exact | undefined, name: ManagerName, range: string): string | undefined {
  if (name === 'npm' && range === '*') return undefined
  return kept?.packageManager?.name === name ? kept.packageManager.version : undefined
}

const rangeIn = (text: string): string => text.trim() || '*'

const titled = (name: Tool['name'], version: string): string => toolTitle({ name, version })

/**
 * Puts a package that builds for Node where the app asks for one that builds for another host. Everything happens in the
 * sandbox and in the layer of the build: neither the app's files nor the installed packages that others use are changed.
 */
import { chmod, copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import semver from 'semver'
import { Problem } from '../../contract/index.ts'
import type { Mount } from '../../engines/index.ts'
import type { Adapter, Plan } from '../plan/plan.ts'
import { answerOf, arrange, isArranged, type Runner } from '../run/step.ts'
import { type View, WORK, type Workspace } from '../run/workspace.ts'
import type { Toolchains } from '../toolchain/index.ts'

/** Programs of ours that run inside. */
const PROGRAMS = fileURLToPath(new URL('./inside', import.meta.url))
const INSIDE = { programs: '/headland/adapter', fetched: '/headland/adapter-package' } as const

type Parts = {
  plan: Plan
  place: Workspace
  view: View
  adapters: Toolchains['adapters']
  isClean: boolean
  deadlineMs: number
}

/** Takes away again what the app does not need to run. */
export type Placed = { remove(): Promise<void> }

export async function placeAdapter(runner: Runner, parts: Parts, adapter: Adapter): Promise<Placed> {
  const { replaces, by, module } = adapter
  const { log } = runner
  if (module === null) {
    log.say('BUILDING', `The preset ${by} is used in place of ${replaces}, which builds for another host.`)
    return { remove: async () => undefined }
  }
  const { place, view, deadlineMs } = parts
  const programs: Mount = { from: await copyPrograms(place), to: INSIDE.programs, isWritable: false }
  const cwd = join(WORK, parts.plan.rootDirectory)
  const inside = { cwd, view, deadlineMs }
  const node = (program: string, ...words: string[]) => ['node', `${INSIDE.programs}/${program}`, ...words]

  async function versionsOf(...names: string[]): Promise<(string | undefined)[]> {
    const argv = node('versions.mjs', ...names)
    return versionsIn((await answerOf(runner, { ...inside, argv, mounts: [programs] })) ?? '')
  }

  /** The app's own if it has one, which fits as its owner found. */
  async function fetched(peer: string) {
    const [peerVersion, own] = await versionsOf(peer, by)
    if (own !== undefined) return { version: own, folder: undefined }
    if (peerVersion === undefined) throw cannotStandIn(adapter, `${peer} is not installed`)
    const found = await parts.adapters.take(
      { package: by, peer, peerVersion },
      {
        isFresh: parts.isClean,
        signal: runner.signal,
        onFetch: (what) => log.say('BUILDING', `Fetching ${what}.`),
      },
    )
    if (found === undefined) throw cannotStandIn(adapter, `no version of it is for ${peer} ${peerVersion}`)
    return found
  }

  const taken = module.peer === null ? undefined : await fetched(module.peer)
  const from = taken?.folder
  const mounts = [programs, ...(from ? [{ from, to: INSIDE.fetched, isWritable: false }] : [])]
  const argv = node('place.mjs', module.kind, module.package, by, ...(from ? [INSIDE.fetched] : []))
  if (!(await isArranged(runner, { ...inside, argv, mounts })))
    throw cannotStandIn(adapter, `${module.package} could not be replaced`)
  log.say(
    'BUILDING',
    `${wordsFor(adapter, taken?.version)} is used in place of ${replaces}, which builds for another host.`,
  )
  return {
    async remove() {
      if (from) await arrange(runner, { ...inside, argv: ['rm', '-rf', '--', `node_modules/${by}`] })
    },
  }
}

const wordsFor = ({ by }: Adapter, version: string | undefined): string =>
  version === undefined ? `The preset ${by}` : `${by} ${version}`

/** The files of the service may be its own alone: the app's user reads copies. */
async function copyPrograms(place: Workspace): Promise<string> {
  const folder = await place.makeServiceFolder('adapter')
  for (const name of await readdir(PROGRAMS)) {
    await copyFile(join(PROGRAMS, name), join(folder, name))
    await chmod(join(folder, name), 0o644)
  }
  return folder
}

/** It comes out of the app's own folders, so it is taken for no more than versions. */
function versionsIn(answer: string): (string | undefined)[] {
  let found: unknown
  try {
    found = JSON.parse(answer)
  } catch {
    return []
  }
  const list: unknown[] = Array.isArray(found) ? found : []
  return list.map((version) => (typeof version === 'string' ? (semver.valid(version) ?? undefined) : undefined))
}

const cannotStandIn = ({ replaces, by }: Adapter, why: string): Problem =>
  new Problem(
    'PLAN_FAILED',
    `The app builds with ${replaces}, which cannot run here, and ${by} cannot take its place: ${why}. Install ${by}, and name it in the app's configuration.`,
  )

/**
 * Replaces an adapter that builds for another host by one that builds for Node. Everything happens in the sandbox and in the
 * layer of the build: neither the app's files nor the shared installed packages are changed.
 */
import { chmod, copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import semver from 'semver'
import { Problem } from '../../contract/index.ts'
import type { Mount } from '../../engines/index.ts'
import type { Adapter, Plan } from '../plan/plan.ts'
import { outputOf, type Runner, runHelper, tryHelper } from '../run/step.ts'
import { type View, WORK, type Workspace } from '../run/workspace.ts'
import type { Toolchains } from '../toolchain/index.ts'

/** Programs of the service that run inside the sandbox. */
const PROGRAMS = fileURLToPath(new URL('./inside', import.meta.url))
const INSIDE = { programs: '/headland/adapter', fetched: '/headland/adapter-package' } as const

type Parts = {
  plan: Plan
  workspace: Workspace
  view: View
  adapters: Toolchains['adapters']
  isClean: boolean
  deadlineMs: number
}

/** `remove` deletes what the app does not need to run. */
export type Placed = { remove(): Promise<void> }

export async function placeAdapter(runner: Runner, parts: Parts, adapter: Adapter): Promise<Placed> {
  const { replaces, by, module } = adapter
  const { log } = runner
  if (module === null) {
    log.say('BUILDING', `The preset ${by} is used in place of ${replaces}, which builds for another host.`)
    return { remove: async () => undefined }
  }
  const { workspace, view, deadlineMs } = parts
  const programs: Mount = { from: await copyPrograms(workspace), to: INSIDE.programs, isWritable: false }
  const cwd = join(WORK, parts.plan.rootDirectory)
  const inside = { cwd, view, deadlineMs }
  const node = (program: string, ...words: string[]) => ['node', `${INSIDE.programs}/${program}`, ...words]

  async function versionsOf(...names: string[]): Promise<(string | undefined)[]> {
    const argv = node('versions.mjs', ...names)
    return versionsIn((await outputOf(runner, { ...inside, argv, mounts: [programs] })) ?? '')
  }

  /** The version that the app itself has installed, or else a fetched one that fits the framework. */
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
  if (!(await tryHelper(runner, { ...inside, argv, mounts })))
    throw cannotStandIn(adapter, `${module.package} could not be replaced`)
  log.say(
    'BUILDING',
    `${wordsFor(adapter, taken?.version)} is used in place of ${replaces}, which builds for another host.`,
  )
  return {
    async remove() {
      if (from) await runHelper(runner, { ...inside, argv: ['rm', '-rf', '--', `node_modules/${by}`] })
    },
  }
}

const wordsFor = ({ by }: Adapter, version: string | undefined): string =>
  version === undefined ? `The preset ${by}` : `${by} ${version}`

/** The app's user may not be allowed to read the files of the service, so it reads copies. */
async function copyPrograms(workspace: Workspace): Promise<string> {
  const folder = await workspace.makeServiceFolder('adapter')
  for (const name of await readdir(PROGRAMS)) {
    await copyFile(join(PROGRAMS, name), join(folder, name))
    await chmod(join(folder, name), 0o644)
  }
  return folder
}

/** The output is untrusted: it comes from folders of the app, so only valid versions are used. */
function versionsIn(output: string): (string | undefined)[] {
  let found: unknown
  try {
    found = JSON.parse(output)
  } catch {
    return []
  }
  const list: unknown[] = Array.isArray(found) ? found : []
  return list.map((version) => (typeof version === 'string' ? (semver.valid(version) ?? undefined) : undefined))
}

const cannotStandIn = ({ replaces, by }: Adapter, why: string): Problem =>
  new Problem(
    'PLAN_FAILED',
    `The app builds with ${replaces}, which cannot run here, and ${by} cannot replace it: ${why}. Install ${by}, and name it in the app's configuration.`,
  )

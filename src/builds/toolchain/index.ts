/**
 * Node and a package manager as builds and apps see them: read-only, the same for everybody, at one place. What the machine
 * has is used as it is; the rest is fetched from the registry once and kept for all.
 */
import semver from 'semver'
import { type Clock, systemClock } from '../../base/index.ts'
import { type Engine, type Job, type Mount, runToEnd } from '../../engines/index.ts'
import { createAdapters } from './adapters.ts'
import { standIn } from './choose.ts'
import { environmentOf, findCertificates } from './environment.ts'
import { type Exact, managerTool, nodeTool, type Tool, toolTitle, type Wanted } from './exact.ts'
import { createLists } from './lists.ts'
import { findNpm, ownNode } from './machine.ts'
import { describe } from './package.ts'
import { INSIDE, type Part, present } from './present.ts'
import { notAvailable } from './problems.ts'
import { npmRegistry, type Registry } from './registry.ts'
import { createResolver, type Resolved } from './resolve.ts'
import { NEVER } from './shared.ts'
import { createToolStore, type Kept, openFolder, scratchIn } from './store.ts'
import { unusedOf } from './unused.ts'

export type { Exact, Kept, Resolved, Wanted }

export type Toolchain = Exact & {
  mounts: Mount[]
  /** The PATH of every command. */
  path: string
  /** Variables that its commands need, at build and at run time. */
  environment: Record<string, string>
}

export type OpenOptions = {
  signal?: AbortSignal
  /** Told before something is fetched, which may take a while: `Node 22.23.3`. */
  onFetch?: (what: string) => void
  /**
   * Whether something of the same major version that is here will do for what is not: an app that ran before an upgrade of
   * the service must run after it, whatever the registry says.
   */
  mayStandIn?: boolean
}

export type Parts = {
  /** Where tools are kept. */
  folder: string
  /** The service's own: PATH, where npm is looked for, and what is set for npm. */
  environment: Readonly<Record<string, string | undefined>>
  isIsolating: boolean
  clock?: Clock
  /** For tests. */
  registry?: Registry
}

const PATH = `${INSIDE.bin}:/usr/local/bin:/usr/bin:/bin`

export async function openToolchains({ folder, environment, isIsolating, clock = systemClock, ...given }: Parts) {
  const { arch } = process
  const own = ownNode()
  const npm = await findNpm(environment.PATH ?? '')
  await openFolder(folder)
  const certificates = await findCertificates()
  // npm trusts what builds trust, unless the operator has said otherwise.
  const forNpm = { ...environmentOf({ node: '0.0.0', packageManager: null }, certificates), ...environment }
  const registry =
    given.registry ?? npmRegistry({ program: npm.program, environment: forNpm, scratch: scratchIn(folder) })
  const store = createToolStore({ folder, arch, registry, clock })
  // Asked each time: whoever looks after the machine may bring another one meanwhile.
  const describeNpm = () => describe(npm.root, 'npm')
  const resolver = createResolver({
    arch,
    ownNode: own.version,
    npmOfMachine: describeNpm,
    lists: createLists({ registry, clock }),
    fetched: store.versions,
  })

  /** What to use for it: itself, or what may stand in. */
  async function nearest(tool: Tool, local: readonly string[], mayStandIn: boolean): Promise<Tool> {
    if (semver.valid(tool.version) !== tool.version) throw new Error(`${tool.version} is not an exact version.`)
    if (!mayStandIn || local.includes(tool.version) || (await store.isHere(tool))) return tool
    const here = standIn(tool.version, [...local, ...(await store.versions(tool.package))])
    return { ...tool, version: here ?? tool.version }
  }

  async function take(tool: Tool, { signal = NEVER, onFetch }: OpenOptions): Promise<void> {
    await store
      .take(tool, signal, () => onFetch?.(toolTitle(tool)))
      .catch((error) => {
        signal.throwIfAborted()
        throw notAvailable(toolTitle(tool), error)
      })
  }

  async function partOf(tool: Tool): Promise<Part> {
    const described = await describe(store.rootOf(tool), tool.name)
    return { ...described, from: store.placeOf(tool), root: `node_modules/${tool.package}`, to: inLib(tool.name) }
  }

  return {
    /** What needs no registry: the service's own Node and the machine's npm. */
    own: (): Exact => ({ node: own.version, packageManager: null }),

    /** Exact versions for what is wanted. */
    resolve: resolver.resolve,

    /** Fetches what is missing, and says how to see it. npm is always there too: scripts call it in every project. */
    async open(exact: Exact, options: OpenOptions = {}): Promise<Toolchain> {
      const { mayStandIn = false } = options
      options.signal?.throwIfAborted()
      const machineNpm = await describeNpm()
      const node = await nearest(nodeTool(exact.node, arch), [own.version], mayStandIn)
      const isOwn = node.version === own.version
      const manager = await managerOf(exact, machineNpm.version, mayStandIn)
      const wanted = [...(isOwn ? [] : [node]), ...(manager.tool ? [manager.tool] : [])]
      // To the end of each, so that nothing goes on behind the back of whoever was told that one failed.
      const taken = await Promise.allSettled(wanted.map((tool) => take(tool, options)))
      for (const result of taken) if (result.status === 'rejected') throw result.reason
      const binary = isOwn ? own.binary : `${store.rootOf(node)}/bin/node`
      const mounts = await present({
        folder,
        isIsolating,
        own,
        node: {
          version: node.version,
          binary,
          mount: isOwn
            ? { from: binary, to: `${inLib('node')}/bin/node`, isWritable: false }
            : { from: store.rootOf(node), to: inLib('node'), isWritable: false },
        },
        parts: [
          ...(manager.tool?.name === 'npm' ? [] : [{ ...machineNpm, from: npm.root, root: '', to: inLib('npm') }]),
          ...(manager.tool ? [await partOf(manager.tool)] : []),
        ],
      })
      const used: Exact = { node: node.version, packageManager: manager.exact }
      return { ...used, mounts, path: PATH, environment: environmentOf(used, certificates) }
    },

    /** Packages that are built with in place of those for another host. */
    adapters: createAdapters({ store, registry, clock }),

    /** Everything that was fetched. */
    list: (): Promise<Kept[]> => store.list(),

    unused,

    /** Removes what is unused, and says what it was. */
    async collect(keep: readonly Exact[]): Promise<Kept[]> {
      const removed: Kept[] = []
      for (const kept of await unused(keep)) if (await store.remove(kept)) removed.push(kept)
      return removed
    },

    /** Removes what processes left that died while they fetched. */
    sweep: (): Promise<void> => store.sweep(),
  }

  /** What nobody needs: neither those who are named, nor anybody within a day. */
  async function unused(keep: readonly Exact[]): Promise<Kept[]> {
    return unusedOf(await store.list(), { keep, arch, now: clock.now() })
  }

  /** The machine's own npm is no tool that is kept. */
  async function managerOf(
    { packageManager }: Exact,
    npmVersion: string,
    mayStandIn: boolean,
  ): Promise<{ exact: Exact['packageManager']; tool?: Tool }> {
    if (packageManager === null) return { exact: null }
    const { name, version } = packageManager
    const tool = await nearest(managerTool(name, version, arch), name === 'npm' ? [npmVersion] : [], mayStandIn)
    // Any npm can start an app.
    const isMachines = name === 'npm' && (tool.version === npmVersion || (mayStandIn && !(await store.isHere(tool))))
    if (isMachines) return { exact: { name, version: npmVersion } }
    return { exact: { name, version: tool.version }, tool }
  }
}

export type Toolchains = Awaited<ReturnType<typeof openToolchains>>

const inLib = (name: string): string => `${INSIDE.lib}/${name}`

const TRIAL_MS = 30_000

/** Whether a user can run npm out of it. Tried and not guessed, since every folder on the way has a say. */
export async function isUsableBy(
  user: Job['user'],
  { mounts, path }: Pick<Toolchain, 'mounts' | 'path'>,
  engine: Engine,
): Promise<boolean> {
  const environment = { PATH: path, HOME: '/tmp' }
  const job: Job = { argv: [`${INSIDE.bin}/npm`, '--version'], cwd: '/', environment, mounts, user }
  const { code } = await runToEnd(engine, job, () => undefined, AbortSignal.timeout(TRIAL_MS))
  return code === 0
}

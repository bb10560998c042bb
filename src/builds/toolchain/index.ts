/**
 * Node and a package manager as builds and apps see them: mounted read-only, at the same path for all tenants. Tools of the
 * machine are used as they are; others are fetched from the registry once and shared.
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
  /** Called before a tool is fetched, which may take a while, with its title: `Node 22.23.3`. */
  onFetch?: (what: string) => void
  /**
   * Whether an available version of the same major version may replace a missing one: an app that ran before an upgrade of the
   * service must run after it, even without the registry.
   */
  mayStandIn?: boolean
}

export type Parts = {
  /** Where fetched tools are stored. */
  folder: string
  /** The service's own environment: PATH, in which npm is looked up, and settings for npm. */
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
  // npm trusts the same certificates as builds, unless the operator has configured others.
  const forNpm = { ...environmentOf({ node: '0.0.0', packageManager: null }, certificates), ...environment }
  const registry =
    given.registry ?? npmRegistry({ program: npm.program, environment: forNpm, scratch: scratchIn(folder) })
  const store = createToolStore({ folder, arch, registry, clock })
  // Read each time: the operator may install another npm while the service runs.
  const describeNpm = () => describe(npm.root, 'npm')
  const resolver = createResolver({
    arch,
    ownNode: own.version,
    npmOfMachine: describeNpm,
    lists: createLists({ registry, clock }),
    fetched: store.versions,
  })

  /** The tool itself, or another version that may replace it. */
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
    /** The service's own Node and the machine's npm, which need no registry. */
    own: (): Exact => ({ node: own.version, packageManager: null }),

    /** Exact versions for what is wanted. */
    resolve: resolver.resolve,

    /** Fetches missing tools and returns their mounts. npm is always among them: scripts of every project call it. */
    async open(exact: Exact, options: OpenOptions = {}): Promise<Toolchain> {
      const { mayStandIn = false } = options
      options.signal?.throwIfAborted()
      const machineNpm = await describeNpm()
      const node = await nearest(nodeTool(exact.node, arch), [own.version], mayStandIn)
      const isOwn = node.version === own.version
      const manager = await managerOf(exact, machineNpm.version, mayStandIn)
      const wanted = [...(isOwn ? [] : [node]), ...(manager.tool ? [manager.tool] : [])]
      // Waits for all of them, so that no fetch goes on after this call has failed.
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

    /** Adapters that replace those for another host. */
    adapters: createAdapters({ store, registry, clock }),

    /** Everything that was fetched. */
    list: (): Promise<Kept[]> => store.list(),

    unused,

    /** Removes unused tools and returns them. */
    async collect(keep: readonly Exact[]): Promise<Kept[]> {
      const removed: Kept[] = []
      for (const kept of await unused(keep)) if (await store.remove(kept)) removed.push(kept)
      return removed
    },

    /** Removes drafts of processes that died while they fetched. */
    sweep: (): Promise<void> => store.sweep(),
  }

  /** Tools that are not in `keep` and were not used within a day. */
  async function unused(keep: readonly Exact[]): Promise<Kept[]> {
    return unusedOf(await store.list(), { keep, arch, now: clock.now() })
  }

  /** The machine's own npm is not a fetched tool. */
  async function managerOf(
    { packageManager }: Exact,
    npmVersion: string,
    mayStandIn: boolean,
  ): Promise<{ exact: Exact['packageManager']; tool?: Tool }> {
    if (packageManager === null) return { exact: null }
    const { name, version } = packageManager
    const tool = await nearest(managerTool(name, version, arch), name === 'npm' ? [npmVersion] : [], mayStandIn)
    // An app can be started by any version of npm.
    const isMachines = name === 'npm' && (tool.version === npmVersion || (mayStandIn && !(await store.isHere(tool))))
    if (isMachines) return { exact: { name, version: npmVersion } }
    return { exact: { name, version: tool.version }, tool }
  }
}

export type Toolchains = Awaited<ReturnType<typeof openToolchains>>

const inLib = (name: string): string => `${INSIDE.lib}/${name}`

const TRIAL_MS = 30_000

/** Whether a user can run npm from these mounts. It is tried, since it depends on the permissions of every parent folder. */
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

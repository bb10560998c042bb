/**
 * A network namespace for each job: it reaches the internet, the DNS resolvers of this machine and the sites of the service as
 * visitors do, but nothing else of the machine, and no other job. An app also reaches the one port where the service listens to
 * apps. The service reaches servers in it.
 *
 * A namespace has a veth pair to the machine. It is kept by a descriptor of the service and by nothing on disk, so a service
 * that is killed leaves none. The table of firewall rules stays until the next start, so that a job that outlives its service
 * for a moment is still restricted.
 */
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mount } from '../engine.ts'
import { formatAddress, formatRange, sizeOf } from './addresses.ts'
import { mustHave, NetworkError, TakenError } from './commands.ts'
import { openForwarder } from './dns/forwarder.ts'
import { resolverFileFor, watchResolvers } from './dns/resolvers.ts'
import { guardedByTables } from './firewall/table.ts'
import { openGatewayLink } from './gateway-link.ts'
import { keepRules } from './keeper.ts'
import { idOf, interfacesOf } from './names.ts'
import { type NamespaceParts, type NetworkNamespace, openNetworkNamespace } from './namespace.ts'
import { type Answers, createReach } from './reach.ts'
import { describeSettings, type NetworkSettings, readPolicy } from './settings.ts'
import { type IsSite, NO_SITES, type SiteAccess, siteAddress, watchProxyAddresses } from './sites.ts'
import { sweep } from './sweep.ts'
import { obstacleFor } from './trial.ts'

export interface Networks {
  /** For logs and for the doctor. */
  readonly description: string
  /** How many interfaces and tables of dead services were removed at the start. */
  readonly swept: number
  /** A namespace for one job, or for several that belong together. The label is for the operator who looks at `ip link`. */
  open(label: string, options?: NamespaceOptions): Promise<NetworkNamespace>
  /** The machine's address as the gateway of all namespaces. */
  readonly gateway: string
  /** From now on only namespaces that may call the service reach it, at this port of the gateway. */
  openService(port: number): Promise<void>
  /** From now on all namespaces reach the edge at the ports of visitors: it listens to them at this port of the gateway. */
  openEdge(port: number): Promise<void>
  /** Decides which names lead to the edge. */
  findSites(isSite: IsSite): void
  /** The port at which apps are called: one that visitors do not use, since it leads to the app inside. */
  readonly appPort: number
  /** Whether a server answers now. The service checks it under the rules that apply to jobs. */
  answers: Answers
  /** What on this machine keeps jobs from the internet, for people; undefined if they reach it. */
  obstacle(): Promise<string | undefined>
  /** Leaves the machine as it was. */
  close(): Promise<void>
}

/**
 * Whether its contacts are recorded, whether it may call the service, and at which port the service calls it, as if from its
 * own loopback.
 */
export type NamespaceOptions = { isRecorded?: boolean; callsService?: boolean; port?: number }

export type NetworkOptions = {
  /** The data folder, by which services on one machine are told apart. */
  folder: string
  settings: NetworkSettings
  /** How visitors reach the sites; without it, jobs do not reach them. */
  sites?: SiteAccess
  /** Users of this machine that may call apps: those of the service and of its edge. */
  callers?: readonly number[]
  /** Called when the rules could not be kept as they should be. */
  onProblem(error: Error): void
  resolverFile?: string
}

const RESOLVER_FILE = '/etc/resolv.conf'
/** One more than visitors have ports. */
const APP_PORTS = [8080, 8082, 8083] as const

/** `isTaken`: a service with the same data folder runs, and has networks. */
export type Missing = { missing: string; isTaken?: true }

/** The networks, or why there are none. Throws if the settings are invalid. */
export async function openNetworks(options: NetworkOptions): Promise<Networks | Missing> {
  readPolicy(options.settings)
  if (process.platform !== 'linux') return { missing: `${process.platform} has no network namespaces` }
  if (process.getuid?.() !== 0) return { missing: 'it takes root to make network namespaces' }
  try {
    mustHave('ip', 'nft', 'setpriv')
    return await openAsRoot(options)
  } catch (error) {
    if (error instanceof TakenError) return { missing: error.message, isTaken: true }
    if (error instanceof NetworkError) return { missing: error.message }
    throw error
  }
}

/** For the doctor: what is missing or in the way, for people; undefined if all is well. A running service is not disturbed. */
export async function networkProblem(settings: NetworkSettings): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'headland-network-'))
  try {
    const networks = await openNetworks({ folder, settings, onProblem: () => undefined })
    if ('missing' in networks) return networks.missing
    try {
      return await networks.obstacle()
    } finally {
      await networks.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function openAsRoot(options: NetworkOptions): Promise<Networks> {
  const { folder, settings, sites = NO_SITES, callers = [0], onProblem, resolverFile = RESOLVER_FILE } = options
  const policy = readPolicy(settings)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const id = idOf(await realpath(folder))
  const resolvers = watchResolvers(resolverFile)
  await using parts = new AsyncDisposableStack()

  // Before the sweep, which removes the tables that say which interfaces were guarded.
  const inherited = await guardedByTables()
  const swept = await sweep(id)
  const gatewayLink = await openGatewayLink(id, policy, await resolvers())
  parts.defer(() => gatewayLink.close())
  const { block, gateway, far } = gatewayLink
  const at = formatAddress(gateway)
  let isSite: IsSite = async () => false
  const addressOf = (name: string) => siteAddress(name, sites, { isSite, gateway: at })
  const forwarder = await openForwarder({ address: at, resolvers, addressOf })
  parts.defer(() => forwarder.close())
  const rules = { id, block, gateway, trial: far, forwarder: forwarder.ports, callers, policy, sites }
  const proxyAddresses = watchProxyAddresses(sites, resolvers)
  const keeper = await keepRules({ rules, inherited, proxyAddresses, onProblem })
  parts.defer(() => keeper.stop())
  const mounts = [await writeResolverFile(join(folder, 'network'), at, resolverFile)]
  const namespaces = createNamespaces({ gatewayLink, forwarder, policy, sites, mounts }, interfacesOf(id))
  parts.defer(() => namespaces.close())

  const held = parts.move()
  return {
    description: `a network for each build and app, in ${formatRange(block)}; ${describeSettings(settings)}`,
    swept,
    open: namespaces.open,
    gateway: at,
    openService: keeper.openService,
    openEdge: keeper.openEdge,
    findSites(asked) {
      isSite = asked
    },
    appPort: APP_PORTS.find((port) => !sites.ports.includes(port)) ?? 0,
    answers: createReach({ policy, block, resolvers }),
    async obstacle() {
      const namespace = await namespaces.open('trial')
      try {
        return await obstacleFor({ enter: namespace.around, gateway: at, far: formatAddress(far) })
      } finally {
        await namespace.close()
      }
    },
    close: () => held.disposeAsync(),
  }
}

/** The open namespaces, each with an address of its own. */
function createNamespaces(parts: NamespaceParts, prefixes: ReturnType<typeof interfacesOf>) {
  const { block, gateway, far } = parts.gatewayLink
  const namespaces = new Map<number, Promise<NetworkNamespace>>()
  let isClosed = false
  let last = gateway

  /** Addresses are used in turn, so that late packets for a closed namespace do not reach the next one with its address. */
  function freeAddress(): number {
    for (let tries = 0; tries < sizeOf(block); tries++) {
      last = last + 1 < far ? last + 1 : gateway + 1
      if (!namespaces.has(last)) return last
    }
    throw new Error(`all addresses of ${formatRange(block)} are in use`)
  }

  async function openAt(
    address: number,
    label: string,
    { isRecorded = false, callsService = false, port }: NamespaceOptions,
  ): Promise<NetworkNamespace> {
    const prefix = callsService ? prefixes.callers : prefixes.namespaces
    const link = { name: `${prefix}${address - block.first}`, address, gateway }
    const namespace = await openNetworkNamespace(parts, link, { label, isRecorded, port })
    let closed: Promise<void> | undefined
    const close = () => {
      closed ??= namespace.close().finally(() => namespaces.delete(address))
      return closed
    }
    return { ...namespace, close }
  }

  return {
    async open(label: string, options: NamespaceOptions = {}): Promise<NetworkNamespace> {
      if (isClosed) throw new Error('the networks are closed')
      const address = freeAddress()
      const opening = openAt(address, label, options)
      namespaces.set(address, opening)
      opening.catch(() => namespaces.delete(address))
      return opening
    },
    async close() {
      isClosed = true
      const left = await Promise.allSettled(namespaces.values())
      await Promise.all(left.map((found) => (found.status === 'fulfilled' ? found.value.close() : undefined)))
    },
  }
}

/** Readable by every user, whatever the service's umask is. */
async function writeResolverFile(folder: string, gateway: string, resolverFile: string): Promise<Mount> {
  const file = join(folder, 'resolv.conf')
  await mkdir(folder, { recursive: true, mode: 0o755 })
  await writeFile(file, await resolverFileFor(gateway, resolverFile))
  await chmod(file, 0o644)
  return { from: file, to: RESOLVER_FILE, isWritable: false }
}

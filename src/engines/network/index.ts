/**
 * A network of its own for each job: it reaches the world, the resolvers of this machine, and nothing else of it, nor
 * another job. An app also reaches the one port where the service listens to apps. The service reaches what listens in it.
 *
 * A view is a network namespace with a cable to the machine. It is held by a descriptor of the service and by nothing on
 * disk, so a service that is killed leaves none. What stays is the table of rules, until the next start: a job that outlives
 * its service for a moment is not let loose.
 */
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mount } from '../engine.ts'
import { formatAddress, formatRange, sizeOf } from './addresses.ts'
import { dropAnchor } from './anchor.ts'
import { NetworkError, run, TakenError } from './commands.ts'
import { openForwarder } from './dns/forwarder.ts'
import { resolverFileFor, watchResolvers } from './dns/resolvers.ts'
import { guardedByTables } from './firewall/table.ts'
import { keepRules } from './keeper.ts'
import { idOf, interfacesOf } from './names.ts'
import { type Answers, createReach } from './reach.ts'
import { describeSettings, type NetworkSettings, readPolicy } from './settings.ts'
import { sweep } from './sweep.ts'
import { obstacleFor } from './trial.ts'
import { type NetworkView, openView, type ViewParts } from './view.ts'

export interface Networks {
  /** In words, for logs and for the doctor. */
  readonly description: string
  /** How many things dead services had left. */
  readonly swept: number
  /** A view for one job, or for several that belong together. The label is for the operator who looks at `ip link`. */
  open(label: string, options?: ViewOptions): Promise<NetworkView>
  /** The address of this machine that all views know. */
  readonly gateway: string
  /** From now on views that may call the service reach it at this port of the gateway, and nobody else does. */
  openService(port: number): Promise<void>
  /** Whether a server answers now, asked by the service under the rules that views have. */
  answers: Answers
  /** What on this machine keeps views from the world, in words; nothing if they reach it. */
  obstacle(): Promise<string | undefined>
  /** Leaves the machine as it was. */
  close(): Promise<void>
}

/**
 * Whether it is written down whom it calls, whether it may call the service, and at which port the service calls it, as if
 * from its own loopback.
 */
export type ViewOptions = { isRecorded?: boolean; callsService?: boolean; port?: number }

export type NetworkOptions = {
  /** The data folder: it tells services on one machine apart. */
  folder: string
  settings: NetworkSettings
  /** Users of this machine that may call apps: those of the service and of its edge. */
  callers?: readonly number[]
  /** Called when the rules could not be kept as they should be. */
  onProblem(error: Error): void
  resolverFile?: string
}

const RESOLVER_FILE = '/etc/resolv.conf'

/** `isTaken`: a service with the same folder runs, and has networks. */
export type Missing = { missing: string; isTaken?: true }

/** The networks, or why there are none. Throws if the settings are no good. */
export async function openNetworks(options: NetworkOptions): Promise<Networks | Missing> {
  readPolicy(options.settings)
  if (process.platform !== 'linux') return { missing: `${process.platform} has no network namespaces` }
  if (process.getuid?.() !== 0) return { missing: 'it takes root to make network namespaces' }
  try {
    await Promise.all([run('ip', ['-V']), run('nft', ['--version']), run('setpriv', ['--version'])])
    return await openAsRoot(options)
  } catch (error) {
    if (error instanceof TakenError) return { missing: error.message, isTaken: true }
    if (error instanceof NetworkError) return { missing: error.message }
    throw error
  }
}

/** For the doctor: what is missing or in the way, in words; nothing if all is well. A running service is not disturbed. */
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
  const { folder, settings, callers = [0], onProblem, resolverFile = RESOLVER_FILE } = options
  const policy = readPolicy(settings)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const id = idOf(await realpath(folder))
  const resolvers = watchResolvers(resolverFile)
  await using parts = new AsyncDisposableStack()

  // Before the sweep, which takes away what tells.
  const inherited = await guardedByTables()
  const swept = await sweep(id)
  const anchor = await dropAnchor(id, policy, await resolvers())
  parts.defer(() => anchor.close())
  const { block, gateway, far } = anchor
  const forwarder = await openForwarder({ address: formatAddress(gateway), resolvers })
  parts.defer(() => forwarder.close())
  const rules = { id, block, gateway, trial: far, forwarder: forwarder.ports, callers, policy }
  const keeper = await keepRules(rules, inherited, onProblem)
  parts.defer(() => keeper.stop())
  const mounts = [await writeResolverFile(join(folder, 'network'), formatAddress(gateway), resolverFile)]
  const views = createViews({ anchor, forwarder, policy, mounts }, interfacesOf(id))
  parts.defer(() => views.close())

  const held = parts.move()
  return {
    description: `a network for each build and app, in ${formatRange(block)}; ${describeSettings(settings)}`,
    swept,
    open: views.open,
    gateway: formatAddress(gateway),
    openService: keeper.openService,
    answers: createReach({ policy, block, resolvers }),
    async obstacle() {
      const view = await views.open('trial')
      try {
        return await obstacleFor({ enter: view.around, gateway: formatAddress(gateway), far: formatAddress(far) })
      } finally {
        await view.close()
      }
    },
    close: () => held.disposeAsync(),
  }
}

/** The views that are open, each with an address of its own. */
function createViews(parts: ViewParts, prefixes: ReturnType<typeof interfacesOf>) {
  const { block, gateway, far } = parts.anchor
  const views = new Map<number, Promise<NetworkView>>()
  let isClosed = false
  let last = gateway

  /** In turn, so that one who is late does not meet the next who has his address. */
  function freeAddress(): number {
    for (let tries = 0; tries < sizeOf(block); tries++) {
      last = last + 1 < far ? last + 1 : gateway + 1
      if (!views.has(last)) return last
    }
    throw new Error(`all addresses of ${formatRange(block)} are in use`)
  }

  async function openAt(
    address: number,
    label: string,
    { isRecorded = false, callsService = false, port }: ViewOptions,
  ): Promise<NetworkView> {
    const prefix = callsService ? prefixes.callers : prefixes.views
    const link = { name: `${prefix}${address - block.first}`, address, gateway }
    const view = await openView(parts, link, { label, isRecorded, port })
    let closed: Promise<void> | undefined
    const close = () => {
      closed ??= view.close().finally(() => views.delete(address))
      return closed
    }
    return { ...view, close }
  }

  return {
    async open(label: string, options: ViewOptions = {}): Promise<NetworkView> {
      if (isClosed) throw new Error('the networks are closed')
      const address = freeAddress()
      const opening = openAt(address, label, options)
      views.set(address, opening)
      opening.catch(() => views.delete(address))
      return opening
    },
    async close() {
      isClosed = true
      const left = await Promise.allSettled(views.values())
      await Promise.all(left.map((found) => (found.status === 'fulfilled' ? found.value.close() : undefined)))
    },
  }
}

/** Read by every user, however strict the service's own mask is. */
async function writeResolverFile(folder: string, gateway: string, resolverFile: string): Promise<Mount> {
  const file = join(folder, 'resolv.conf')
  await mkdir(folder, { recursive: true, mode: 0o755 })
  await writeFile(file, await resolverFileFor(gateway, resolverFile))
  await chmod(file, 0o644)
  return { from: file, to: RESOLVER_FILE, isWritable: false }
}

/** How each process of the service is started, and which of them run. */
import { type Clock, createTurns, type Log } from '../base/index.ts'
import type { PeerAddress } from '../channel/index.ts'
import type { Config } from '../settings.ts'
import type { AgentBegin, AgentReady } from './agent.ts'
import type { ControlBegin, ControlReady } from './control.ts'
import type { EdgeBegin } from './edge.ts'
import type { FilesBegin } from './files.ts'
import type { NodeBegin } from './node.ts'
import { openSocket, type SharedSocket } from './sockets.ts'
import { type SendSocket, type Supervised, supervise } from './supervised.ts'

export type Running = {
  edges: Supervised<null>[]
  /** Only where edges get files of static sites from a registry. */
  files: Supervised<null> | undefined
  control: Supervised<ControlReady> | undefined
  agent: Supervised<AgentReady> | undefined
  node: Supervised<null> | undefined
  /** Those that were replaced, and hold apps that are not. */
  oldAgents: Set<Supervised<AgentReady>>
  /** Those that were replaced, and still have connections. */
  oldEdges: Set<Supervised<null>>
}

export type EdgeSockets = { http: SharedSocket; tls: SharedSocket | undefined }

/** Those of the roles that run here. */
export type Sockets = {
  edges: readonly EdgeSockets[]
  api: SharedSocket | undefined
  /** For each agent, that of the newest first. */
  inApp: SharedSocket[]
  /** Where edges listen to builds and apps: for each gateway, one for each edge. */
  jobs: Map<string, SharedSocket[]>
}

type StartParts = {
  clock: Clock
  log: Log
  config: Config
  sockets: Sockets
  onDeath(error: Error): void
  commandOf(role: string): readonly string[]
  /** Aborted when the service stops. */
  stopping: AbortSignal
}

/** The command is read at each start, so that a process that dies after a reload is started from the new program. */
export function createStarts({ clock, log, config, sockets, onDeath, commandOf, stopping }: StartParts) {
  const [first] = sockets.edges
  const edgeAddress = first?.http.address ?? config.edgeListen
  const inTurn = createTurns()
  /** A worker has no API; otherwise it is like a control process. */
  const controlRole = config.roles.includes('worker') ? 'worker' : 'control'

  /** All edges have the same port at a gateway, and it stays the same for as long as the gateway is there. */
  const jobSocket = (gateway: string, index: number): Promise<SharedSocket> =>
    inTurn(gateway, async () => {
      const known = sockets.jobs.get(gateway) ?? []
      sockets.jobs.set(gateway, known)
      const port = known.find((socket) => socket !== undefined)?.address.port ?? 0
      known[index] ??= await openSocket({ host: gateway, port }, { isShared: config.edges > 1 })
      return known[index]
    })

  /** An edge asks for its socket at the gateway of the newest agent. It gets those of older agents too, which still hold apps. */
  async function giveJobSockets(wanted: string, index: number, send: SendSocket) {
    for (const gateway of new Set([wanted, ...sockets.jobs.keys()])) {
      try {
        const { handle, address } = await jobSocket(gateway, index)
        send({ kind: 'jobSocket', gateway, port: address.port }, handle)
      } catch (error) {
        log.error({ err: error, gateway }, 'builds and apps cannot reach the sites')
      }
    }
  }

  return {
    agent: (onRestart: (ready: AgentReady) => void, { isSuccessor = false } = {}): Promise<Supervised<AgentReady>> =>
      supervise<AgentReady>({
        clock,
        log,
        stopping,
        role: 'agent',
        command: () => commandOf('agent'),
        begin: (isFirst): AgentBegin => ({ isSuccessor: isSuccessor && isFirst, edgePort: edgeAddress.port }),
        onRestart,
      }),

    async edge(index: number): Promise<Supervised<null>> {
      const { http, tls } = sockets.edges[index] as EdgeSockets
      const begin: EdgeBegin = { index, count: config.edges, tlsPort: tls?.address.port, controls: controlsOf(config) }
      const edge = await supervise<null>({
        clock,
        log,
        stopping,
        role: 'edge',
        command: () => commandOf('edge'),
        sockets: () => [http, ...(tls ? [tls] : [])],
        begin: () => begin,
        onJobSocketWanted: (gateway, send) => void giveJobSockets(gateway, index, send),
      })
      log.info({ edgePid: edge.pid(), port: edgeAddress.port }, 'the edge listens')
      return edge
    },

    node(): Promise<Supervised<null>> {
      const begin: NodeBegin = { controls: controlsOf(config) ?? [] }
      return supervise<null>({
        clock,
        log,
        stopping,
        role: 'node',
        command: () => commandOf('node'),
        begin: () => begin,
      })
    },

    /** Undefined where the files of static sites are on this machine already. */
    async files(): Promise<Supervised<null> | undefined> {
      const { controlAddresses, registry, registryPassword } = config
      if (!first || controlAddresses.length === 0 || registry === undefined) return undefined
      const begin: FilesBegin = { registryPassword: registryPassword?.reveal() }
      return supervise<null>({
        clock,
        log,
        stopping,
        role: 'files',
        command: () => commandOf('files'),
        begin: () => begin,
      })
    },

    control({ isReload = false } = {}): Promise<Supervised<ControlReady>> {
      return supervise<ControlReady>({
        clock,
        log,
        stopping,
        role: controlRole,
        command: () => commandOf(controlRole),
        sockets: () => [...(sockets.api ? [sockets.api] : []), ...sockets.inApp],
        begin: (isFirst): ControlBegin => ({
          edge: edgeAddress,
          inAppCount: sockets.inApp.length,
          isReload: isReload && isFirst,
        }),
        onFatal: onDeath,
      })
    },
  }
}

/** Those of other machines; undefined where it is that of this data folder. */
function controlsOf({ controlAddresses, clusterToken }: Config): readonly PeerAddress[] | undefined {
  const token = clusterToken?.reveal() ?? ''
  return controlAddresses.length > 0 ? controlAddresses.map((address) => ({ ...address, token })) : undefined
}

export type Starts = ReturnType<typeof createStarts>

/** How each process of the service is started, and which of them run. */
import type { Clock, Log } from '../base/index.ts'
import type { Config } from '../settings.ts'
import type { AgentBegin, AgentReady } from './agent.ts'
import type { ControlBegin, ControlReady } from './control.ts'
import type { EdgeBegin } from './edge.ts'
import type { SharedSocket } from './sockets.ts'
import { type Supervised, supervise } from './supervised.ts'

export type Running = {
  edges: Supervised<null>[]
  control: Supervised<ControlReady> | undefined
  agent: Supervised<AgentReady> | undefined
  /** Those that were replaced, and hold apps that are not. */
  oldAgents: Set<Supervised<AgentReady>>
}

export type EdgeSockets = { http: SharedSocket; tls: SharedSocket | undefined }

/** Those of the roles that run here. */
export type Sockets = {
  edges: readonly EdgeSockets[]
  api: SharedSocket | undefined
  /** For each agent, that of the newest first. */
  inApp: SharedSocket[]
}

type StartParts = {
  clock: Clock
  log: Log
  config: Config
  sockets: Sockets
  onDeath(error: Error): void
  commandOf(role: string): readonly string[]
}

/** The command is read at each start, so that a process that dies after a reload is started from the new program. */
export function createStarts({ clock, log, config, sockets, onDeath, commandOf }: StartParts) {
  const [first] = sockets.edges
  const edgeAddress = first?.http.address ?? config.edgeListen

  return {
    agent: (onRestart: (ready: AgentReady) => void, { isSuccessor = false } = {}): Promise<Supervised<AgentReady>> =>
      supervise<AgentReady>({
        clock,
        log,
        role: 'agent',
        command: () => commandOf('agent'),
        begin: (isFirst): AgentBegin => ({ isSuccessor: isSuccessor && isFirst }),
        onRestart,
      }),

    async edge(index: number): Promise<Supervised<null>> {
      const { http, tls } = sockets.edges[index] as EdgeSockets
      const begin: EdgeBegin = { index, count: config.edges, tlsPort: tls?.address.port }
      const edge = await supervise<null>({
        clock,
        log,
        role: 'edge',
        command: () => commandOf('edge'),
        sockets: () => [http, ...(tls ? [tls] : [])],
        begin: () => begin,
      })
      log.info({ edgePid: edge.pid(), port: edgeAddress.port }, 'the edge listens')
      return edge
    },

    control({ isReload = false } = {}): Promise<Supervised<ControlReady>> {
      return supervise<ControlReady>({
        clock,
        log,
        role: 'control',
        command: () => commandOf('control'),
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

export type Starts = ReturnType<typeof createStarts>

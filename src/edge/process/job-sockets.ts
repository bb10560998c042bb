/**
 * The sockets at which builds and apps reach this edge, one for the gateway of each agent. The parent process holds them, as it
 * does the one of visitors: connections wait in them while an edge is started again, and their ports stay the same.
 */
import type { BoundSocket } from '../job-servers.ts'
import type { EdgeServer } from '../server.ts'

export type JobSocket = { gateway: string; port: number; handle: BoundSocket }

/** How an edge gets its sockets. */
export type JobSocketSource = {
  /** Asks the parent process for the one at this gateway. */
  want(gateway: string): void
  /** Called with each that comes, also with those that came before. */
  onSocket(listener: (socket: JobSocket) => void): void
}

type Parts = {
  edge: Pick<EdgeServer, 'listenToJobs'>
  source: JobSocketSource
  /** Builds and apps of this gateway may be led here. */
  announce(listening: { gateway: string; port: number }): void
}

export function createJobSockets({ edge, source, announce }: Parts) {
  const ports = new Map<string, number>()

  source.onSocket(({ gateway, port, handle }) => {
    if (ports.has(gateway)) return handle.close()
    edge.listenToJobs(handle)
    ports.set(gateway, port)
    announce({ gateway, port })
  })

  return {
    /** The agent has its networks behind this gateway. */
    useGateway(gateway: string) {
      const port = ports.get(gateway)
      if (port === undefined) source.want(gateway)
      else announce({ gateway, port })
    },
  }
}

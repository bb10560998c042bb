/** The connections to instances, which are kept between requests for a while. */
import { connect, type Socket } from 'node:net'
import type { Limits } from '../../limits.ts'
import type { ServerTarget } from '../../routes.ts'
import type { Pools } from '../pools.ts'

export type UpstreamConnection = {
  socket: Socket
  /** No request was sent over it before the present one. */
  isFresh: boolean
  user: ConnectionUser | undefined
  idleUntilMs: number
}

/** The request that the connection is used for. */
export type ConnectionUser = { data(chunk: Buffer): void; closed(isBroken: boolean): void }

const SWEEP_MS = 5000

export function createUpstreamConnections({ limits, pools }: { limits: Limits; pools: Pools }) {
  /** Idle connections by instance; the most recently used one is the last. */
  const idle = new Map<string, UpstreamConnection[]>()
  const sweeper = setInterval(sweep, SWEEP_MS)
  sweeper.unref()

  function sweep() {
    const now = performance.now()
    for (const [instance, connections] of idle) {
      while (connections[0] && connections[0].idleUntilMs < now) connections.shift()?.socket.destroy()
      if (connections.length === 0) idle.delete(instance)
    }
  }

  return {
    take({ instance }: ServerTarget): UpstreamConnection | undefined {
      const now = performance.now()
      const connections = idle.get(instance)
      for (let connection = connections?.pop(); connection; connection = connections?.pop()) {
        if (connection.idleUntilMs > now && !connection.socket.destroyed) return connection
        connection.socket.destroy()
      }
      return undefined
    },

    /** For the next request; `keepAliveMs` is how long the instance keeps it, where it announced that. */
    keep({ instance }: ServerTarget, connection: UpstreamConnection, keepAliveMs: number | undefined) {
      // A second less than the instance keeps it, so that no request is sent while the instance closes it.
      const keptMs = Math.min(
        limits.idleUpstreamMs,
        keepAliveMs === undefined ? limits.idleUpstreamMs : keepAliveMs - 1000,
      )
      if (keptMs <= 0 || !pools.isKnown(instance)) return void connection.socket.destroy()
      connection.user = undefined
      connection.isFresh = false
      connection.idleUntilMs = performance.now() + keptMs
      const connections = idle.get(instance)
      if (connections) connections.push(connection)
      else idle.set(instance, [connection])
    },

    open({ instance, host, port }: ServerTarget): UpstreamConnection {
      const socket = connect({ host, port, noDelay: true })
      const connection: UpstreamConnection = { socket, isFresh: true, user: undefined, idleUntilMs: 0 }
      socket.on('data', (chunk) => {
        // Bytes without a request: nothing that follows on this connection can be trusted.
        if (connection.user) connection.user.data(chunk)
        else socket.destroy()
      })
      socket.on('error', ignore)
      socket.on('end', () => connection.user?.closed(false))
      socket.on('close', (hadError) => {
        connection.user?.closed(hadError)
        const connections = idle.get(instance)
        const at = connections?.indexOf(connection) ?? -1
        if (at >= 0) connections?.splice(at, 1)
      })
      return connection
    },

    /** Closes the idle connections to an instance that gets no more requests. */
    retire(instance: string) {
      const connections = idle.get(instance) ?? []
      idle.delete(instance)
      for (const { socket } of connections) socket.destroy()
    },
  }
}

function ignore() {
  // An error is followed by `close`, which notifies the user of the connection.
}

/**
 * Connections of builds and apps, which come to sockets of their own. They are served like those of visitors, and their peers
 * are never taken for a proxy.
 */
import type { Server } from 'node:http'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import type { Forwarded } from './http/forwarded.ts'
import type { Limits } from './limits.ts'

/** A socket that another process has bound, as a handle of Node. */
export type BoundSocket = { close(): void }

type Parts = { http: Server; limits: Limits; forwarded: Pick<Forwarded, 'addJob' | 'meet'> }

export function createJobServers({ http, limits, forwarded }: Parts) {
  const servers = new Set<NetServer>()
  let isClosed = false
  // The first listener: those that follow ask whether a proxy is at the other end.
  http.prependListener('connection', forwarded.meet)

  function accept(socket: Socket) {
    forwarded.addJob(socket)
    http.emit('connection', socket)
  }

  return {
    listen(handle: BoundSocket) {
      // One that comes late is for the edge in whose place this one is no more.
      if (isClosed) return handle.close()
      // As node:http makes its own connections.
      const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
      server.maxConnections = limits.connections
      // A socket whose gateway is gone accepts nothing more.
      server.on('error', () => undefined)
      server.listen(handle)
      servers.add(server)
    },
    /** Accepts no more. Resolves when the last connection is closed. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all([...servers].map((server) => new Promise<void>((resolve) => server.close(() => resolve()))))
    },
  }
}

/** Small servers in place of Headland: one that receives webhook calls, and one that never answers. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import type { Scope } from '../folder.ts'

/** With a percent escape, which some functions of WordPress remove. */
export const TOKEN = 'Secret-of_this%3Dtest'

export type Handle = (response: ServerResponse, count: number, request: IncomingMessage) => void
export function takes(response: ServerResponse, _count?: number) {
  response.setHeader('content-type', 'application/json').end('{"name":"accounts/a/operations/op-1","done":false}')
}

/** Takes the place of Headland. */
export async function startHook(t: Scope, handle: Handle = takes) {
  const calls: IncomingMessage[] = []
  const server = createServer((request, response) => {
    calls.push(request)
    handle(response, calls.length, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { calls, port, url: `http://127.0.0.1:${port}/wh/webhooks/webhook:rebuild?token=${TOKEN}` }
}

/** Accepts connections and never writes. */
export async function startSilentServer(t: Scope) {
  const sockets: Socket[] = []
  const server = createTcpServer((socket) => {
    sockets.push(socket)
    // A client that gives up closes its side.
    socket.on('error', () => undefined).resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { sockets, port: (server.address() as { port: number }).port }
}

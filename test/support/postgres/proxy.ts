/** A proxy to PostgreSQL that can be cut: both sides keep their connections, and nothing arrives any more. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Scope } from '../folder.ts'

export async function startProxy(t: Scope, url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => isCut || into.write(bytes))
      from.on('error', () => undefined)
      from.on('close', () => isCut || into.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const mine = new URL(url)
  mine.port = String((server.address() as AddressInfo).port)
  return {
    url: mine.href,
    cut() {
      isCut = true
    },
    /** What was cut is over; new connections pass. */
    mend() {
      isCut = false
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    },
  }
}

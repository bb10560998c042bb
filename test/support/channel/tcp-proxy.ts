/** A way between two machines that can be cut: bytes are lost without a word, in both directions, and connections stay open. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Scope } from '../folder.ts'

export async function startTcpProxy(t: Scope, target: { port: number }) {
  let isCut = false
  let isShut = false
  let chunks = 0
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (isShut) return void near.destroy()
    const far = connect({ host: '127.0.0.1', port: target.port, allowHalfOpen: true })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        chunks++
        if (!isCut) to.write(bytes)
      })
      from.on('error', () => undefined)
      from.on('end', () => {
        if (!isCut) to.end()
      })
      from.on('close', () => {
        sockets.delete(from)
        if (!isCut) to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.after(() => {
    end()
    server.close()
  })
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      isCut = true
    },
    /** Connections that were open when it was cut have lost bytes, and end. */
    mend() {
      if (isCut) end()
      isCut = false
    },
    /** Connections end, and new ones are refused. */
    shut() {
      isShut = true
      end()
    },
    open() {
      isShut = false
    },
    connections: () => sockets.size / 2,
    /** How many pieces of bytes have come, from both sides. */
    chunks: () => chunks,
  }
}

/** Accepts connections of other processes of the service on a Unix socket. */
import type { Socket } from 'node:net'
import { type Greeting, greet, type Peer } from './peer.ts'
import { openUnixSocket } from './unix-socket.ts'

type Parts<Sent, Received> = {
  path: string
  greeting: Greeting
  onPeer(peer: Peer<Sent, Received>): void
  /** A connection that could not be used, as of a process of another version. */
  onRefused(error: unknown): void
}

export async function listenToPeers<Sent, Received>({ path, greeting, onPeer, onRefused }: Parts<Sent, Received>) {
  const sockets = new Set<Socket>()

  const open = () =>
    openUnixSocket(path, (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      greet<Sent, Received>(socket, greeting).then(onPeer, onRefused)
    })

  let server = await open()

  return {
    /** Takes the path again, after another process had taken it. Connections stay. */
    async reopen() {
      const before = server
      server = await open()
      before.close()
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

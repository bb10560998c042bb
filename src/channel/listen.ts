/**
 * Accepts connections of other processes of the service on a Unix socket that only the user of the service can open. The socket
 * is made under another name and renamed, so a process that takes over replaces it in one step, and the end of the old one
 * does not remove it.
 */
import { chmod, rename } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { type Greeting, greet, type Peer } from './peer.ts'

type Parts<Sent, Received> = {
  path: string
  greeting: Greeting
  onPeer(peer: Peer<Sent, Received>): void
  /** A connection that could not be used, as of a process of another version. */
  onRefused(error: unknown): void
}

export async function listenToPeers<Sent, Received>({ path, greeting, onPeer, onRefused }: Parts<Sent, Received>) {
  const sockets = new Set<Socket>()

  async function open(): Promise<Server> {
    const opened = createServer((socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      greet<Sent, Received>(socket, greeting).then(onPeer, onRefused)
    })
    const draft = `${path}.${process.pid}`
    await new Promise<void>((resolve, reject) => {
      opened.once('error', reject)
      opened.listen(draft, resolve)
    })
    await chmod(draft, 0o600)
    await rename(draft, path)
    return opened
  }

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

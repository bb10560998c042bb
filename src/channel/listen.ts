/** Accepts connections of other processes of the service, on a Unix socket or, from other machines, on a port. */
import type { Socket } from 'node:net'
import { type Greeting, greet, type Peer } from './peer.ts'
import { keepPulse } from './pulse.ts'
import { openSecurePort, type SecureListen } from './secure.ts'
import { openUnixSocket } from './unix-socket.ts'

type Parts<Sent, Received> = {
  /** The path of a Unix socket, or a port for other machines. */
  address: string | SecureListen
  greeting: Greeting
  onPeer(peer: Peer<Sent, Received>): void
  /** A connection that could not be used, as of a process of another version. */
  onRefused(error: unknown): void
}

export type Listening = {
  /** Undefined for a path. */
  port: number | undefined
  /** Takes the path again, after another process had taken it. Connections stay. */
  reopen(): Promise<void>
  /** Ends connections whose token is not good any more. Nothing for a path. */
  endInvalid(): void
  close(): Promise<void>
}

export function listenToPeers<Sent, Received>(parts: Parts<Sent, Received>): Promise<Listening> {
  const { address } = parts
  return typeof address === 'string' ? listenAtPath(address, parts) : listenAtPort(address, parts)
}

async function listenAtPath<Sent, Received>(
  path: string,
  { greeting, onPeer, onRefused }: Parts<Sent, Received>,
): Promise<Listening> {
  const sockets = new Set<Socket>()

  const open = () =>
    openUnixSocket(path, (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      greet<Sent, Received>(socket, greeting).then(onPeer, onRefused)
    })

  let server = await open()

  return {
    port: undefined,
    endInvalid: () => undefined,
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

/** Anyone can make connections fail, so not each of them is reported. */
const REPORT_MS = 10_000

async function listenAtPort<Sent, Received>(
  address: SecureListen,
  { greeting, onPeer, onRefused }: Parts<Sent, Received>,
): Promise<Listening> {
  let reportTime = Number.NEGATIVE_INFINITY
  const report = (error: unknown) => {
    if (performance.now() < reportTime + REPORT_MS) return
    reportTime = performance.now()
    onRefused(error)
  }
  const { port, endInvalid, close } = await openSecurePort(address, {
    onConnection(socket, identity, greeted) {
      greet<Sent, Received>(socket, greeting, identity)
        .finally(greeted)
        .then((peer) => {
          keepPulse(socket)
          onPeer(peer)
        }, report)
    },
    onRefused: report,
  })
  // Several processes may listen at a port at the same time, so it is never lost to another one.
  return { port, reopen: async () => undefined, endInvalid, close }
}

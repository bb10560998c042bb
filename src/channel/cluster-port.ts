/**
 * The one port of a control process for processes of other machines. What each of them came for is its topic: an edge has one
 * connection for routes, and others for other topics.
 */

import { listenToPeers } from './listen.ts'
import { type Greeting, IncompatiblePeer, type Peer } from './peer.ts'
import type { SecureListen } from './secure.ts'

type Parts = {
  address: SecureListen
  greeting: Greeting
  /** A connection that could not be used. */
  onRefused(error: unknown): void
}

/** The topic of a greeting without one. */
export const FIRST_TOPIC = 'routes'

// biome-ignore lint/suspicious/noExplicitAny: each topic has messages of its own
type AnyPeer = Peer<any, any>

export async function openClusterPort({ address, greeting, onRefused }: Parts) {
  const topics = new Map<string, (peer: AnyPeer) => void>()
  const keyOf = (role: string, topic: string) => `${role} ${topic}`

  const { port, endInvalid, close } = await listenToPeers<never, never>({
    address,
    greeting,
    onPeer(peer) {
      const { role, topic = FIRST_TOPIC } = peer.greeting
      const serve = topics.get(keyOf(role, topic))
      if (serve) return serve(peer)
      // It tries again: this process may still be starting.
      peer.close()
      onRefused(new IncompatiblePeer(`nothing is here for the topic ${topic} of the role ${role}`))
    },
    onRefused,
  })

  return {
    port,
    /** A connection for a topic that is not served is closed. */
    serve<Sent, Received>(
      { role, topic = FIRST_TOPIC }: { role: string; topic?: string },
      onPeer: (peer: Peer<Sent, Received>) => void,
    ) {
      topics.set(keyOf(role, topic), onPeer)
    },
    /** Ends connections whose token is not good any more. */
    endInvalid,
    close,
  }
}

export type ClusterPort = Awaited<ReturnType<typeof openClusterPort>>

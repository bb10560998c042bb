/**
 * A connection to another process of the service that is made again whenever it breaks, with the next of several addresses:
 *
 *   connecting   no connection yet; the next address is tried at once, and after all of them there is a pause that grows
 *   open         greeted; `onPeer` was called with it
 *   (closed)     → connecting, with the address after the one that was lost
 *   stopped      final
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Greeting, greet, type Peer } from './peer.ts'
import { keepPulse } from './pulse.ts'
import { connectSecurely, type SecureAddress } from './secure.ts'

/** The path of a Unix socket, or a port of another machine. */
export type PeerAddress = string | SecureAddress

type Parts<Sent, Received> = {
  /** Of processes that are as good as each other. The first is chosen by chance, so that they get about as many followers each. */
  addresses: readonly PeerAddress[]
  greeting: Greeting
  /** Called for each new connection: both sides then say where they stand. */
  onPeer(peer: Peer<Sent, Received>): void
  /** There is no process, or one that speaks another protocol. It is tried again all the same: a newer one may take its place. */
  onRefused?(error: unknown): void
}

/** One connection, which is not made again. Rejects if there is no process, or one that speaks another protocol. */
export async function connectPeer<Sent, Received>(
  address: PeerAddress,
  greeting: Greeting,
  signal?: AbortSignal,
): Promise<Peer<Sent, Received>> {
  if (typeof address === 'string') return greet<Sent, Received>(connect(address), greeting)
  const { socket, greeted } = await connectSecurely(address, signal)
  const peer = await greet<Sent, Received>(socket, greeting)
  greeted()
  keepPulse(socket)
  return peer
}

/** A process of the same machine is there again soon. Many machines that lost the same process do not all come at once. */
const PAUSES_MS = { near: { first: 20, max: 100 }, far: { first: 50, max: 2000 } }

/** A connection that was lost sooner does not shorten the next pause: a handshake costs both sides. */
const STEADY_MS = { near: 0, far: 2000 }

export function followPeer<Sent, Received>(parts: Parts<Sent, Received>) {
  const { addresses, greeting, onPeer, onRefused = () => undefined } = parts
  const place = addresses.every((address) => typeof address === 'string') ? 'near' : 'far'
  const stopping = new AbortController()
  const { signal } = stopping
  let open: Peer<Sent, Received> | undefined
  let connection = 0

  async function connectTo(address: PeerAddress): Promise<boolean> {
    const began = performance.now()
    try {
      open = await connectPeer<Sent, Received>(address, { ...greeting, connection: ++connection }, signal)
      if (signal.aborted) open.close()
      else onPeer(open)
      await open.closed
      return performance.now() - began >= STEADY_MS[place]
    } catch (error) {
      if (!signal.aborted) onRefused(error)
      return false
    } finally {
      open = undefined
    }
  }

  async function follow() {
    const { first, max } = PAUSES_MS[place]
    let pauseMs = first
    let tried = 0
    for (let at = Math.floor(Math.random() * addresses.length); !signal.aborted; at++) {
      const wasSteady = await connectTo(addresses[at % addresses.length] as PeerAddress)
      if (wasSteady) pauseMs = first
      tried = wasSteady ? 1 : tried + 1
      if (tried < addresses.length) continue
      tried = 0
      const spread = place === 'near' ? 1 : 0.5 + Math.random()
      await sleep(pauseMs * spread, undefined, { signal }).catch(() => undefined)
      pauseMs = Math.min(pauseMs * 2, max)
    }
  }
  const following = follow()

  return {
    /** Undefined while there is no connection. */
    peer: () => open,
    async stop() {
      stopping.abort()
      open?.close()
      await following
    },
  }
}

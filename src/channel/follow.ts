/**
 * A connection to another process of the service that is made again whenever it breaks:
 *
 *   connecting   no connection yet; tried again after a pause that grows to a tenth of a second
 *   open         greeted; `onPeer` was called with it
 *   (closed)     → connecting
 *   stopped      final
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Greeting, greet, type Peer } from './peer.ts'

type Parts<Sent, Received> = {
  path: string
  greeting: Greeting
  /** Called for each new connection: both sides then say where they stand. */
  onPeer(peer: Peer<Sent, Received>): void
  /** There is no process, or one that speaks another protocol. It is tried again all the same: a newer one may take its place. */
  onRefused?(error: unknown): void
}

/** One connection, which is not made again. Rejects if there is no process, or one that speaks another protocol. */
export const connectPeer = <Sent, Received>(path: string, greeting: Greeting): Promise<Peer<Sent, Received>> =>
  greet<Sent, Received>(connect(path), greeting)

const PAUSE_MS = { first: 20, max: 100 }

export function followPeer<Sent, Received>(parts: Parts<Sent, Received>) {
  const { path, greeting, onPeer, onRefused = () => undefined } = parts
  const stopping = new AbortController()
  const { signal } = stopping
  let open: Peer<Sent, Received> | undefined

  async function follow() {
    let pauseMs = PAUSE_MS.first
    while (!signal.aborted) {
      try {
        open = await greet<Sent, Received>(connect(path), greeting)
        pauseMs = PAUSE_MS.first
        if (signal.aborted) open.close()
        else onPeer(open)
        await open.closed
      } catch (error) {
        onRefused(error)
      }
      open = undefined
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max)
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

/**
 * One edge as the control process knows it, and when a purge is over for it:
 *
 *   the edge is …                                  a purge waits until …
 *   connected                                      it confirms; or, if it does not, its lease has run out
 *   not connected any more                         its lease has run out, or its process is certainly gone
 *   known from an earlier control process          the same, with a lease that begins with this process
 *   connected only after the purge was recorded    does not wait: an edge begins without a lease, and is sent the purge first
 *
 * Leases are counted from the moment in which a renewal arrived, which is later than the moment from which the edge counts.
 */
import { type Clock, pollUntil } from '../../base/index.ts'
import type { Caller } from '../../channel/index.ts'
import type { EdgeMethodsForControl, NumberedPurge } from './messages.ts'

const POLL_MS = 50

type Parts = {
  clock: Pick<Clock, 'sleep'>
  /** Names the process of the edge on its machine. */
  process: string
  /** Whether that process is gone; true only when it is certain. */
  isGone(process: string): boolean
  leaseMs: number
  /** Monotonic. */
  now(): number
}

export function createMember({ clock, process, isGone, leaseMs, now }: Parts) {
  let connection: Caller<EdgeMethodsForControl> | undefined
  let applied = 0
  let leaseEnd = now() + leaseMs

  const isFenced = (): boolean => now() >= leaseEnd || (!connection && isGone(process))
  const untilOver = (isOver: () => boolean, signal: AbortSignal) =>
    pollUntil(clock, isOver, { pauseMs: POLL_MS, timeoutMs: Number.POSITIVE_INFINITY, signal })

  return {
    process,
    /** The routes that it uses; null before the first. */
    revision: null as number | null,
    /** Whether those are the routes of now, as far as this connection knows. It has no lease before. */
    isRouted: false,
    connection: () => connection,
    connected(opened: Caller<EdgeMethodsForControl>) {
      connection = opened
      this.isRouted = false
    },
    disconnected(closed: Caller<EdgeMethodsForControl>) {
      if (connection === closed) connection = undefined
    },
    /** It has a new lease, and had applied all purges up to this number. */
    renewed(number: number) {
      applied = Math.max(applied, number)
      leaseEnd = now() + leaseMs
    },

    /** Resolves when this edge does not answer with what is purged any more. */
    async settle(purge: NumberedPurge, signal?: AbortSignal): Promise<void> {
      const settled = new AbortController()
      const ending = AbortSignal.any([settled.signal, ...(signal ? [signal] : [])])
      const isOver = () => applied >= purge.number || isFenced()
      // An edge that refuses, or is lost, is waited for as one that does not answer.
      const confirmed = connection?.call('purge', purge, ending).catch(() => new Promise<never>(() => undefined))
      try {
        await Promise.race([untilOver(isOver, ending), ...(confirmed ? [confirmed] : [])])
        signal?.throwIfAborted()
      } finally {
        settled.abort()
      }
    },

    /** Resolves to whether the edge is gone, when that is certain; false if it has connected again. */
    async forgotten(signal: AbortSignal): Promise<boolean> {
      await untilOver(() => connection !== undefined || isFenced(), signal)
      return connection === undefined && !signal.aborted
    },
  }
}

export type EdgeMember = ReturnType<typeof createMember>

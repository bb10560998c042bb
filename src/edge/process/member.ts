/**
 * One edge as the control process that it follows knows it, and when a purge is over for it:
 *
 *   the edge is …             a purge is over when …
 *   connected                 it confirms; or, if it does not, its lease has run out
 *   not connected any more    its lease has run out, or its process is certainly gone
 *   leaving                   at once: it answers no visitor any more
 *
 * Leases are counted from the moment in which a renewal arrived, which is later than the moment from which the edge counts. One
 * that connects may have a lease of another control process, so that moment counts as well.
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
  /** More purges are over for it. */
  onProgress(): void
}

export function createMember({ clock, process, isGone, leaseMs, now, onProgress }: Parts) {
  let connection: Caller<EdgeMethodsForControl> | undefined
  let applied = 0
  /** Confirmed while an earlier one was missing. */
  const ahead = new Set<number>()
  let leaseEnd = now() + leaseMs
  let hasLeft = false

  const isFenced = (): boolean => hasLeft || now() >= leaseEnd || (!connection && isGone(process))

  function confirmed(number: number) {
    if (number > applied) ahead.add(number)
    while (ahead.delete(applied + 1)) applied += 1
    onProgress()
  }

  return {
    process,
    /** The number of its connection, by its own count. */
    number: 0,
    /** The routes that it uses; null before the first. */
    revision: null as number | null,
    /** The routes that it was sent; it may not use them yet. */
    sentRevision: null as number | null,
    /** How many messages with routes it was sent, and the last of those that it has confirmed. */
    sends: { sent: 0, confirmed: 0 },
    /** Resolves when it uses all routes that it was sent, or is not waited for. */
    routed: Promise.resolve() as Promise<unknown>,
    /** Whether those are the routes of now, as far as this connection knows. It has no lease before. */
    isRouted: false,
    /** The number that other control processes see. */
    recorded: 0,
    connection: () => connection,
    /** The number up to which it has applied all purges. */
    applied: (): number => applied,
    /** It begins to connect. */
    met(number: number) {
      this.number = Math.max(this.number, number)
      leaseEnd = Math.max(leaseEnd, now() + leaseMs)
    },
    connected(opened: Caller<EdgeMethodsForControl>) {
      connection = opened
      this.isRouted = false
      this.sentRevision = this.revision
    },
    disconnected(closed: Caller<EdgeMethodsForControl>) {
      if (connection === closed) connection = undefined
      onProgress()
    },
    left() {
      hasLeft = true
      onProgress()
    },
    /** It has a new lease, and had applied all purges up to this number. */
    renewed(number: number) {
      leaseEnd = now() + leaseMs
      applied = Math.max(applied, number)
      for (const early of ahead) if (early <= applied) ahead.delete(early)
      confirmed(applied)
    },
    /** An edge that refuses, or is lost, is waited for as one that does not answer. */
    send(purge: NumberedPurge) {
      connection?.call('purge', purge).then(
        () => confirmed(purge.number),
        () => undefined,
      )
    },

    /** Whether this edge does not answer any more with what this purge is of. */
    isSettled: (number: number): boolean => applied >= number || ahead.has(number) || isFenced(),

    /** Resolves to whether the edge is gone, when that is certain; false if it has connected again. */
    async forgotten(signal: AbortSignal): Promise<boolean> {
      const isOver = () => connection !== undefined || isFenced()
      await pollUntil(clock, isOver, { pauseMs: POLL_MS, timeoutMs: Number.POSITIVE_INFINITY, signal })
      return connection === undefined && !signal.aborted
    },
  }
}

export type EdgeMember = ReturnType<typeof createMember>

/**
 * Whether an edge may use what it has stored. A purge is acknowledged when every edge has confirmed it, or has certainly been
 * without a lease since, so an edge that cannot be told of a purge never answers with what was purged.
 *
 *   state         stored responses                      becomes
 *   current       are used                              cut off, when LEASE_MS have passed since the sending of the last
 *                                                       renewal that was answered
 *   cut off       the app is asked before each use      catching up, when the control process answers again
 *   catching up   the app is asked before each use      current, when all purges of the answer are applied; cut off, if
 *                                                       one of them could not be
 *
 * A process begins cut off, also with a cache on its disk. Times are those of its own monotonic clock, which goes on while the
 * process is stopped: one that was stopped for longer is cut off when it continues.
 */

/** How long an edge may use what it has stored without an answer of the control process. */
export const LEASE_MS = 5000

/** How often it asks for an answer. */
export const RENEW_MS = 1000

export function createLease(now: () => number = () => performance.now()) {
  let until = Number.NEGATIVE_INFINITY
  return {
    isCurrent: (): boolean => now() < until,
    now,
    /** All purges of an answer are applied; `sentTime` is when the renewal was sent. */
    renewed(sentTime: number) {
      until = Math.max(until, sentTime + LEASE_MS)
    },
  }
}

export type Lease = ReturnType<typeof createLease>

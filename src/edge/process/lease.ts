/**
 * Whether an edge may use what it has stored. A purge is acknowledged when every edge has confirmed it, or has certainly been
 * without a lease since, so an edge that cannot be told of a purge never answers with what was purged.
 *
 *   state         stored responses                      becomes
 *   current       are used                              cut off, when the time of the lease has passed since the sending of
 *                                                       the last renewal that was answered
 *   cut off       the app is asked before each use      catching up, when the control process answers again
 *   catching up   the app is asked before each use      current, when all purges of the answer are applied; cut off, if
 *                                                       one of them could not be
 *
 * A process begins cut off, also with a cache on its disk. Times are those of its own monotonic clock, which goes on while the
 * process is stopped: one that was stopped for longer is cut off when it continues.
 */

/** How long an edge may use what it has stored without an answer of the control process, unless that says another time. */
export const LEASE_MS = 5000

/**
 * The same where the control process reads purges from a database on another machine. Without the database it cannot answer, and
 * no purge can be made either, so the lease outlasts a failover of 30 seconds. A purge waits as long for an edge that hangs.
 */
export const LEASE_OVER_NETWORK_MS = 45_000

/**
 * How long an edge uses the addresses of instances on other machines without an answer of any control process. A node gives the
 * port of an instance to another app much later (nodes/process/port-ranges.ts), so no visitor gets to the app of another one.
 */
export const ADDRESSES_MS = 600_000

/** How often it asks for an answer. */
export const RENEW_MS = 1000

export function createLease(now: () => number = () => performance.now()) {
  let until = Number.NEGATIVE_INFINITY
  return {
    isCurrent: (): boolean => now() < until,
    now,
    /** All purges of an answer are applied; `sentTime` is when the renewal was sent. */
    renewed(sentTime: number, leaseMs: number) {
      until = Math.max(until, sentTime + leaseMs)
    },
  }
}

export type Lease = ReturnType<typeof createLease>

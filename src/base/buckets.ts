/**
 * Rate limits: a burst, and then a number per second. Leaky buckets, each kept as the one time until which it is paid
 * (GCRA). They are in memory: a restart resets them.
 */
import type { Clock } from './scheduling/clock.ts'

export type Rate = { atOnce: number; perSecond: number }

/**
 * More than the environments of several accounts have: a caller that could push out its own bucket would have no limit.
 */
const MAX_BUCKETS = 10_000

/**
 * How many processes count for themselves what one limit is for. Each has its part of the number per second; the burst counts in
 * each, so that one large call is not refused for ever.
 */
export type Sharers = () => number

export function createBuckets(clock: Pick<Clock, 'now'>, sharers: Sharers = () => 1) {
  const paidUntil = new Map<string, number>()

  return {
    /** 0 if it was paid, otherwise the milliseconds until it can be. */
    take(key: string, cost: number, { atOnce, perSecond: ofAll }: Rate): number {
      const perSecond = ofAll / Math.max(1, sharers())
      const now = clock.now()
      const maxMs = (atOnce * 1000) / perSecond
      const known = paidUntil.get(key) ?? 0
      // More than the whole burst cannot be owed. If it is, the clock was set back, and waiting until it has caught up
      // could take hours.
      const owed = known - now > maxMs ? 0 : known
      const until = Math.max(now, owed) + (cost * 1000) / perSecond
      const waitMs = until - now - maxMs
      if (waitMs > 0) return waitMs
      if (!paidUntil.has(key) && paidUntil.size >= MAX_BUCKETS) evict(now)
      paidUntil.set(key, until)
      return 0
    },
  }

  /** Removes the buckets that owe nothing; if there are none, the oldest one. */
  function evict(now: number) {
    for (const [key, until] of paidUntil) if (until <= now) paidUntil.delete(key)
    const [first] = paidUntil.keys()
    if (paidUntil.size >= MAX_BUCKETS && first !== undefined) paidUntil.delete(first)
  }
}

/**
 * Rates: so much at once, and then so much a second. Leaky buckets, each kept as the one time until which it is paid (GCRA).
 * They are in memory: a restart gives everybody a fresh start.
 */
import type { Clock } from './clock.ts'

export type Rate = { atOnce: number; perSecond: number }

/** More than the environments of several accounts: who could push out their own would have no limit. */
const MAX_BUCKETS = 10_000

export function createBuckets(clock: Pick<Clock, 'now'>) {
  const paidUntil = new Map<string, number>()

  return {
    /** 0 when it was paid, or else how many milliseconds it takes until it can be. */
    take(key: string, cost: number, { atOnce, perSecond }: Rate): number {
      const now = clock.now()
      const maxMs = (atOnce * 1000) / perSecond
      const known = paidUntil.get(key) ?? 0
      // Nobody can owe more than all at once: then the clock was set back, and to wait until it has caught up takes hours.
      const owed = known - now > maxMs ? 0 : known
      const until = Math.max(now, owed) + (cost * 1000) / perSecond
      const waitMs = until - now - maxMs
      if (waitMs > 0) return waitMs
      if (!paidUntil.has(key) && paidUntil.size >= MAX_BUCKETS) evict(now)
      paidUntil.set(key, until)
      return 0
    },
  }

  /** Those that owe nothing go; if there are none, the one that came first. */
  function evict(now: number) {
    for (const [key, until] of paidUntil) if (until <= now) paidUntil.delete(key)
    const [first] = paidUntil.keys()
    if (paidUntil.size >= MAX_BUCKETS && first !== undefined) paidUntil.delete(first)
  }
}

/**
 * Counts attempts by key: a burst, and then a number per second. Each key has one time until which its attempts are paid
 * (a leaky bucket, as GCRA keeps it). They are in memory: a restart resets them.
 */

export type AttemptRate = { atOnce: number; perSecond: number }

/** Beyond it, the key that was used longest ago is forgotten. */
const MAX_KEYS = 50_000

export function createAttempts({ atOnce, perSecond }: AttemptRate, now: () => number) {
  const paidUntil = new Map<string, number>()
  const costMs = 1000 / perSecond

  return {
    /** 0 if the attempt may be made, otherwise the milliseconds until it may. */
    take(key: string): number {
      const nowMs = now()
      const until = Math.max(nowMs, paidUntil.get(key) ?? 0) + costMs
      const waitMs = until - nowMs - atOnce * costMs
      if (waitMs > 0) return waitMs
      paidUntil.delete(key)
      paidUntil.set(key, until)
      const [oldest] = paidUntil.keys()
      if (paidUntil.size > MAX_KEYS && oldest !== undefined) paidUntil.delete(oldest)
      return 0
    },

    /** The attempt does not count. */
    giveBack(key: string) {
      const until = (paidUntil.get(key) ?? 0) - costMs
      if (until > now()) paidUntil.set(key, until)
      else paidUntil.delete(key)
    },
  }
}

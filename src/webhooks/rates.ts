/**
 * How often webhooks may be called. Joining a build that waits is cheap, and most callers never try again: whoever has the
 * right token is refused only when an environment is called far more often than a CMS ever does. Guesses are counted by
 * address, and never against those who know a token.
 */
import { isIPv6 } from 'node:net'
import { type Clock, createBuckets, type Rate } from '../base/index.ts'
import { Problem } from '../contract/index.ts'

type Limits = { callsPerMinute: number; guessesPerMinute: number }

const MINUTE_MS = 60_000

export function createWebhookRates(clock: Clock, { callsPerMinute, guessesPerMinute }: Limits) {
  const calls = createBuckets(clock)
  const guesses = createBuckets(clock)
  const refused = createBuckets(clock)

  return {
    /** Pays for a call with the right token. Tells what to answer if there were too many. */
    call(environmentId: string): Problem | undefined {
      return problemAfter('TOO_MANY_TRIGGERS', calls.take(environmentId, 1, perMinute(callsPerMinute)))
    },

    /** Pays for a call with a wrong one. */
    guess(address: string): Problem | undefined {
      return problemAfter('TOO_MANY_GUESSES', guesses.take(neighbourhoodOf(address), 1, perMinute(guessesPerMinute)))
    },

    /** Whether a refused call is to be written down: the first of each minute is, so that a flood is not a flood of rows. */
    isFirstRefusal: (environmentId: string): boolean =>
      refused.take(environmentId, 1, { atOnce: 1, perSecond: 1000 / MINUTE_MS }) === 0,
  }
}

export type WebhookRates = ReturnType<typeof createWebhookRates>

const perMinute = (count: number): Rate => ({ atOnce: count, perSecond: count / 60 })

function problemAfter(reason: 'TOO_MANY_TRIGGERS' | 'TOO_MANY_GUESSES', waitMs: number): Problem | undefined {
  return waitMs > 0 ? new Problem(reason, undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) }) : undefined
}

/** One customer of an IPv6 network has 2^64 addresses. */
function neighbourhoodOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  return [...groups, ...Array.from({ length: missing }, () => '0')].slice(0, 4).join(':')
}

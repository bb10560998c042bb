/**
 * How often webhooks may be called. Joining a build that waits is cheap, and most callers never try again: a caller with the
 * right token is refused only when an environment is called far more often than a CMS ever does. Purges are counted separately,
 * so that a leaked URL that purges cannot keep editors from their builds. Calls with a wrong token are counted by address, and
 * never against callers with the right one.
 */
import { type Clock, createBuckets, type Rate, type Sharers } from '../base/index.ts'
import { LIMITS, Problem, type resources } from '../contract/index.ts'
import { clientNetwork } from '../http/index.ts'

type Limits = {
  callsPerMinute: number
  guessesPerMinute: number
  /** Control processes, which are called by turns. */
  sharers?: Sharers
}

const MINUTE_MS = 60_000

export function createWebhookRates(clock: Clock, { callsPerMinute, guessesPerMinute, sharers }: Limits) {
  const calls = createBuckets(clock, sharers)
  const guesses = createBuckets(clock, sharers)
  const refused = createBuckets(clock)
  const reads = createBuckets(clock, sharers)

  return {
    /** Counts a call with the right token. Returns the error to answer with if there were too many. */
    call(environmentId: string, action: resources.RecordedAction): Problem | undefined {
      const waitMs = calls.take(shareOf(environmentId, action), 1, perMinute(callsPerMinute))
      return problemAfter('TOO_MANY_TRIGGERS', waitMs)
    },

    /** Counts a read of an operation. Separate from calls, so that an open dashboard does not use them up. */
    read(environmentId: string): Problem | undefined {
      const waitMs = reads.take(environmentId, 1, perMinute(LIMITS.webhookReads))
      return problemAfter(
        'TOO_MANY_TRIGGERS',
        waitMs,
        'Operations are read with this webhook more often than they may be.',
      )
    },

    /** Counts a call with a wrong token. */
    guess(address: string): Problem | undefined {
      return problemAfter('TOO_MANY_GUESSES', guesses.take(clientNetwork(address), 1, perMinute(guessesPerMinute)))
    },

    /** Whether a refused call is recorded: only the first of each minute is, so that a flood of calls is not a flood of rows. */
    isFirstRefusal: (environmentId: string, action: resources.RecordedAction): boolean =>
      refused.take(shareOf(environmentId, action), 1, { atOnce: 1, perSecond: 1000 / MINUTE_MS }) === 0,
  }
}

export type WebhookRates = ReturnType<typeof createWebhookRates>

const shareOf = (environmentId: string, action: resources.RecordedAction): string =>
  `${environmentId} ${action === 'PURGE_CACHE' ? 'purges' : 'builds'}`

const perMinute = (count: number): Rate => ({ atOnce: count, perSecond: count / 60 })

function problemAfter(
  reason: 'TOO_MANY_TRIGGERS' | 'TOO_MANY_GUESSES',
  waitMs: number,
  message?: string,
): Problem | undefined {
  return waitMs > 0 ? new Problem(reason, message, { retryAfterSeconds: Math.ceil(waitMs / 1000) }) : undefined
}

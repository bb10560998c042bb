/** When a repository is looked at next, after a look that went well or did not. Pure. */

export type LookState = {
  now: number
  pollMinutes: number | null
  /** Looks that failed one after the other. */
  attempts: number
  /** Someone asked again while this look was under way: what it found may be old. */
  isAskedAgain: boolean
  /** Between 0 and 1: spreads repositories that were connected together. */
  spread: number
}

/** `isPassing`: it may go well later without a change. */
export type LookOutcome = { isWell: true } | { isWell: false; isPassing: boolean }

export type Next = {
  /** Null: only when it is asked for. */
  time: number | null
  attempts: number
  /** Whether those who asked have their answer; otherwise it is tried again for them. */
  isAnswered: boolean
}

const MINUTE_MS = 60_000
const FIRST_RETRY_MS = 30_000
const MAX_RETRY_MS = 60 * MINUTE_MS
/** The last of them is more than two hours after the first. */
const MAX_RETRIES = 8
/** Part of the interval by which a look is earlier or later. */
const SPREAD = 0.1

export const pollTime = ({ now, pollMinutes, spread }: Pick<LookState, 'now' | 'pollMinutes' | 'spread'>) =>
  pollMinutes === null ? null : Math.round(now + pollMinutes * MINUTE_MS * (1 + SPREAD * (2 * spread - 1)))

export function nextLook(state: LookState, outcome: LookOutcome): Next {
  if (state.isAskedAgain) return { time: state.now, attempts: 0, isAnswered: true }
  const poll = pollTime(state)
  if (outcome.isWell) return { time: poll, attempts: 0, isAnswered: true }
  const attempts = state.attempts + 1
  const later = state.now + Math.min(FIRST_RETRY_MS * 2 ** Math.min(state.attempts, 20), MAX_RETRY_MS)
  if (outcome.isPassing && attempts <= MAX_RETRIES) return { time: later, attempts, isAnswered: false }
  // A token that has expired is not tried every minute for ever.
  return { time: poll === null ? null : Math.max(poll, later), attempts, isAnswered: true }
}

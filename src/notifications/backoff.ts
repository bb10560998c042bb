/** When a delivery that failed is tried again: eight tries over a day. */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** After the first try, the second, and so on. */
const PAUSES_MS = [5 * SECOND_MS, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 8 * HOUR_MS, 12 * HOUR_MS]

/** More are only made where processes died while they sent. */
export const MAX_TRIES = PAUSES_MS.length + 1

/** A receiver may ask for a longer pause, and not for one without end. */
const MAX_ASKED_MS = 12 * HOUR_MS
/** Receivers that were away together are not called together again. */
const JITTER = 0.2

/** Undefined after the last try. `random` is from 0 to 1; `askedMs` is what the receiver asked for. */
export function pauseAfter(attempts: number, random: number, askedMs = 0): number | undefined {
  const pause = PAUSES_MS[attempts - 1]
  if (pause === undefined) return undefined
  const asked = Math.min(Math.max(askedMs, 0), MAX_ASKED_MS)
  return Math.round(Math.max(pause * (1 - JITTER + 2 * JITTER * random), asked))
}

/** `Retry-After`: seconds, which Discord writes with a fraction, or a date. */
export function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * SECOND_MS)
  const time = /GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : Math.max(time - now, 0)
}

/** Times, durations and sizes as people read them. */

const SECOND = 1000
const UNITS = [
  ['year', 365 * 86_400 * SECOND],
  ['month', 30 * 86_400 * SECOND],
  ['day', 86_400 * SECOND],
  ['hour', 3_600 * SECOND],
  ['minute', 60 * SECOND],
] as const

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'long' })

/** `3 minutes ago`; a time of the last minute is `just now`, as clocks differ. */
export function ago(then: number, now: number): string {
  const passed = now - then
  for (const [unit, ms] of UNITS) {
    if (Math.abs(passed) >= ms) return relative.format(-Math.trunc(passed / ms), unit)
  }
  return passed > -SECOND * 5 ? 'just now' : 'in a moment'
}

const exactFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })

/** `15 Nov 2026, 11:43:33 UTC`, in the reader's own time zone. */
export const exact = (time: number): string => exactFormat.format(time)

/** `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${(Math.max(0, Math.round(seconds * 10)) / 10).toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`
}

const SIZES = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** `812 B`, `1.4 MB`: powers of 1,024, as the limits of the service are. */
export function bytes(count: number): string {
  let [value, size] = [count, 0]
  while (value >= 1023.5 && size < SIZES.length - 1) {
    value /= 1024
    size++
  }
  return `${size === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${SIZES[size]}`
}

const numbers = new Intl.NumberFormat('en')

/** `12,345`. */
export const number = (value: number): string => numbers.format(value)

/** `1 file`, `2 files`. */
export const counted = (count: number, word: string): string => `${number(count)} ${word}${count === 1 ? '' : 's'}`

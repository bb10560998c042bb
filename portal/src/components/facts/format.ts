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

/**
 * `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`. As the service writes them (src/base/text/figures.ts; a test compares).
 */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return joined(Math.floor(whole / 60), 'min', whole % 60, 's')
  return joined(Math.floor(whole / 3600), 'h', Math.round((whole % 3600) / 60), 'min')
}

const joined = (large: number, unit: string, small: number, smaller: string): string =>
  small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`

/**
 * `parts` in units of 1/`per`, as integers that add up to their rounded sum: each is rounded down, and the remainder
 * goes to the parts that lost the largest fractions.
 */
export function wholeParts(parts: readonly number[], per: number): number[] {
  const exactly = parts.map((part) => part * per)
  const counts = exactly.map((each) => Math.floor(each + 1e-6))
  const lost = exactly.map((each, at) => ({ at, by: each - (counts[at] ?? 0) })).toSorted((a, b) => b.by - a.by)
  const whole = Math.round(exactly.reduce((sum, each) => sum + each, 0))
  const left = whole - counts.reduce((sum, count) => sum + count, 0)
  for (const { at } of lost.slice(0, Math.max(0, left))) counts[at] = (counts[at] ?? 0) + 1
  return counts
}

/** Parts and their total at one precision: the displayed parts add up to the displayed total. */
export function durations(parts: readonly number[], totalSeconds: number): { parts: string[]; total: string } {
  const perSecond = totalSeconds < 9.95 ? 10 : 1
  const counts = wholeParts(parts, perSecond)
  const inWords = (count: number) => {
    if (perSecond === 10) return `${(count / 10).toFixed(1)} s`
    return count < 10 ? `${count} s` : duration(count)
  }
  return { parts: counts.map(inWords), total: duration(totalSeconds) }
}

const SIZES = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** `812 B`, `1.4 MB`: powers of 1,024, as the limits of the service are, and as logs and the command line have them. */
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

/** Sizes and durations for people, the same in logs, in the command line and in the portal. */

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** `812 B`, `1.4 MB`, `334 MB`: powers of 1,024, as the limits and the memory of machines are. */
export function bytesInWords(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 1023.5 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

/** `0.4 s`, `42 s`, `3 min 5 s`, `2 h 10 min`. */
export function durationInWords(seconds: number): string {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return joined(Math.floor(whole / 60), 'min', whole % 60, 's')
  return joined(Math.floor(whole / 3600), 'h', Math.round((whole % 3600) / 60), 'min')
}

const joined = (large: number, unit: string, small: number, smaller: string): string =>
  small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`

export type Durations = { parts: string[]; total: string }

/**
 * Parts and their total at one precision, rounded so that the parts as shown add up to the total as shown: each is
 * rounded down, and the rest goes to those that lost the most. The seconds of the parts must add up to the total.
 */
export function durationsInWords(parts: readonly number[], totalSeconds: number): Durations {
  const perSecond = totalSeconds < 9.95 ? 10 : 1
  const counts = shareOut(parts, perSecond, Math.round(totalSeconds * perSecond))
  const words = (count: number) => (perSecond === 10 ? `${(count / 10).toFixed(1)} s` : longInWords(count))
  return { parts: counts.map(words), total: durationInWords(totalSeconds) }
}

/** Seconds that were rounded already: `0 s`, and never `0.0 s`. */
const longInWords = (seconds: number): string => (seconds < 10 ? `${seconds} s` : durationInWords(seconds))

function shareOut(parts: readonly number[], perSecond: number, whole: number): number[] {
  const exact = parts.map((seconds) => seconds * perSecond)
  const counts = exact.map((each) => Math.floor(each + 1e-6))
  const lost = exact.map((each, at) => ({ at, by: each - (counts[at] ?? 0) })).toSorted((a, b) => b.by - a.by)
  const left = whole - counts.reduce((sum, count) => sum + count, 0)
  for (const { at } of lost.slice(0, Math.max(0, left))) counts[at] = (counts[at] ?? 0) + 1
  return counts
}

/** Formats shares of a whole, and numbers for narrow places. */
import { bytes } from '../../../components/facts/format.ts'

/** From 0 to 1, also where there is no whole. */
export const shareOf = (part: number, whole: number): number => (whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0)

/** `94.2%`. Only all is 100%, and only nothing is 0%: values close to them are not rounded to them. */
export function percent(value: number): string {
  if (value <= 0) return '0%'
  if (value >= 100) return '100%'
  if (value < 0.1) return '<0.1%'
  return `${(Math.floor(value * 10 + 1e-6) / 10).toFixed(1)}%`
}

/** `0.4 ms`, `38 ms`, `1.2 s`. */
export function milliseconds(ms: number): string {
  if (ms < 9.95) return `${Math.round(ms * 10) / 10} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** `950`, `1.2K`, `3M`: for the axis of a chart, which is narrow. */
export const shortNumber = (value: number): string => short.format(value)

/** `512 KB` rather than `512.0 KB`. */
export const shortBytes = (value: number): string => bytes(value).replace('.0 ', ' ')

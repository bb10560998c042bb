/** Numbers as people read them in a log. */
import type { Size } from './inside.ts'

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** 334 MB. */
export function bytesInWords(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)))
  const value = bytes / 1000 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`
}

/** 334 MB in 11,226 files. */
export const inWords = ({ files, bytes }: Size): string =>
  `${bytesInWords(bytes)} in ${files.toLocaleString('en')} ${files === 1 ? 'file' : 'files'}`

/** 4.2 s, and 2 min 5 s. */
export function secondsInWords(ms: number): string {
  const seconds = ms / 1000
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

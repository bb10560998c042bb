/** Figures as people read them. */

export { durationInWords as secondsInWords } from '../../base/index.ts'

/** `1 file`, `1,204 files`. */
export const countInWords = (count: number, thing: string): string =>
  `${count.toLocaleString('en')} ${thing}${count === 1 ? '' : 's'}`

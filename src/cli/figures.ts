/** Figures as people read them. */

/** `0.4 s`, `42 s`, `3 min 5 s`. */
export function secondsInWords(seconds: number): string {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${whole % 60} s`
}

/** `1 file`, `1,204 files`. */
export const countInWords = (count: number, thing: string): string =>
  `${count.toLocaleString('en')} ${thing}${count === 1 ? '' : 's'}`

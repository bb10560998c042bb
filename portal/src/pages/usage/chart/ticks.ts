/** The grid lines of the charts, and their labels. */

const NICE = [1, 2, 3, 4, 5, 6, 8, 10]

/** The end of a scale that includes `max`, chosen so that it and its half are round numbers. */
function topOf(max: number, min: number): number {
  if (max <= min) return min
  const power = 10 ** Math.floor(Math.log10(max))
  const isEven = (step: number) => power >= 10 || step % 2 === 0
  return (NICE.find((step) => step * power >= max && isEven(step)) ?? 10) * power
}

const withHalf = (top: number): number[] => [0, top / 2, top]

/** For counts, which have no fractions. */
export const countTicks = (max: number): number[] => withHalf(topOf(max, 2))

export const timeToAnswerTicks = (max: number): number[] => withHalf(topOf(max, 1))

export const percentTicks = (): number[] => [0, 50, 100]

/** In powers of 1,024, as sizes are shown. */
export function byteTicks(max: number): number[] {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(max, 1)) / Math.log(1024)))
  const top = topOf(max / unit, 2)
  return withHalf((top < 1000 ? top : 1024) * unit)
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Labels under the chart: a time, or the date where a day begins, in the reader's own time zone. */
export function timeTick(seconds: number): string {
  const time = new Date(seconds * 1000)
  return time.getHours() === 0 && time.getMinutes() === 0 ? day.format(time) : clock.format(time)
}

const MINUTE_SECONDS = 60

/** When a step begins: `14:20`, or `12 Nov, 14:20` where the chart shows more than an hour. */
export function stepBegin(time: string, stepSeconds: number): string {
  const at = new Date(time)
  return stepSeconds <= MINUTE_SECONDS ? clock.format(at) : `${day.format(at)}, ${clock.format(at)}`
}

/** `14:20 to 14:30`, for screen readers. */
export const stepWords = (time: string, stepSeconds: number): string =>
  `${stepBegin(time, stepSeconds)} to ${clock.format(new Date(time).getTime() + stepSeconds * 1000)}`

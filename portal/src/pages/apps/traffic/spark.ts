/** The shapes of small charts, as SVG paths: one path for a chart, so that hundreds of them are cheap. */

/** Of the drawing; it is stretched to the place that it has. */
export const SIZE = { width: 96, height: 22 } as const

/** Half of the width of a line, and a little more. */
const EDGE = 1
/** A bar that is not zero can be seen. */
const MIN_BAR = 2

/** Bars from the bottom, the highest of which reaches the top. */
export function bars(values: readonly number[]): string {
  const max = Math.max(...values)
  const step = SIZE.width / values.length
  return values
    .map((value, at) => {
      if (value <= 0) return ''
      const height = Math.max(MIN_BAR, (value / max) * SIZE.height)
      return `M${rounded(at * step)} ${SIZE.height}v-${rounded(height)}h${rounded(step - 1)}v${rounded(height)}z`
    })
    .join('')
}

/** A line through values from 0 to 100; where there is none, it breaks, and a value alone is a dash. */
export function line(values: readonly (number | null)[]): string {
  const step = SIZE.width / values.length
  const heightOf = (value: number) => rounded(EDGE + (1 - value / 100) * (SIZE.height - 2 * EDGE))
  return values
    .map((value, at) => {
      if (value === null) return ''
      const isAlone = (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null
      const middle = rounded((at + 0.5) * step)
      if (isAlone) return `M${rounded(at * step)} ${heightOf(value)}h${rounded(step)}`
      return `${(values[at - 1] ?? null) === null ? 'M' : 'L'}${middle} ${heightOf(value)}`
    })
    .join('')
}

const rounded = (value: number): number => Math.round(value * 10) / 10

/**
 * Whether something grows. The slope is Theil and Sen's: the median of the slopes between all pairs of samples, which
 * single peaks (a pending garbage collection, a running build) do not move.
 */

export type Sample = { minutes: number; value: number }

export type Judgement = {
  /** Growth per minute, in the unit of the samples. */
  slope: number
  /** The median of the first and of the last third. */
  first: number
  last: number
  isFlat: boolean
}

/** `allowed` is the growth per minute that counts as noise. */
export function judge(samples: readonly Sample[], allowed: number): Judgement {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const values = samples.map(({ value }) => value)
  const slope = slopeOf(samples)
  return {
    slope,
    first: medianOf(values.slice(0, third)),
    last: medianOf(values.slice(-third)),
    isFlat: slope <= allowed,
  }
}

export function slopeOf(samples: readonly Sample[]): number {
  const slopes = samples.flatMap((one, index) =>
    samples
      .slice(index + 1)
      .filter((other) => other.minutes !== one.minutes)
      .map((other) => (other.value - one.value) / (other.minutes - one.minutes)),
  )
  return medianOf(slopes)
}

function medianOf(values: readonly number[]): number {
  if (values.length === 0) return 0
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [below = 0, above = 0] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 1 ? above : (below + above) / 2
}

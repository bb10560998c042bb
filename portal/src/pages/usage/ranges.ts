/** How far back the charts look, and how often they are refreshed: about as often as a new point can be seen. */
import type { TrafficRange } from '../../api/types.ts'

export type Range = { id: TrafficRange; short: string; words: string; refreshMs: number }

const LAST_DAY: Range = { id: '24h', short: '24 hours', words: 'the last 24 hours', refreshMs: 30_000 }

export const RANGES: readonly Range[] = [
  { id: '1h', short: '1 hour', words: 'the last hour', refreshMs: 10_000 },
  LAST_DAY,
  { id: '7d', short: '7 days', words: 'the last 7 days', refreshMs: 60_000 },
  { id: '30d', short: '30 days', words: 'the last 30 days', refreshMs: 60_000 },
]

/** The range in the address; the last day if it is not a range. */
export const rangeOf = (text: string | null): Range => RANGES.find(({ id }) => id === text) ?? LAST_DAY

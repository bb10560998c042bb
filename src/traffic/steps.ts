/** The steps in which each range is shown, and the records that they are made of. Times are of the machine's clock, in UTC. */
import type { resources } from '../contract/index.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** The records and how long they are kept: a little longer than the longest range that is made of them. */
export const RECORDS = [
  { stepMs: MINUTE_MS, keptMs: DAY_MS + HOUR_MS },
  { stepMs: HOUR_MS, keptMs: 31 * DAY_MS },
] as const

type Steps = {
  /** The length of one point. */
  stepMs: number
  count: number
  /** The length of the records that it is made of. */
  recordMs: number
}

/** Between 60 and 180 points: as many as a small chart can show. */
export const RANGES: Record<resources.TrafficRange, Steps> = {
  '1h': { stepMs: MINUTE_MS, count: 60, recordMs: MINUTE_MS },
  '24h': { stepMs: 10 * MINUTE_MS, count: 144, recordMs: MINUTE_MS },
  '7d': { stepMs: HOUR_MS, count: 168, recordMs: HOUR_MS },
  '30d': { stepMs: 4 * HOUR_MS, count: 180, recordMs: HOUR_MS },
}

/** Lists of paths are recorded for each hour and each day; those of an hour are kept for a day, those of a day for a month. */
export const PATH_RECORDS = [
  { stepMs: HOUR_MS, keptMs: DAY_MS + HOUR_MS },
  { stepMs: DAY_MS, keptMs: 31 * DAY_MS },
] as const

/** The records that the paths of a range are made of, and their number, including the current one. */
export const PATH_RANGES: Record<resources.TrafficRange, { stepMs: number; count: number }> = {
  '1h': { stepMs: HOUR_MS, count: 2 },
  '24h': { stepMs: HOUR_MS, count: 25 },
  '7d': { stepMs: DAY_MS, count: 7 },
  '30d': { stepMs: DAY_MS, count: 30 },
}

/** The beginning of the first of these records. */
export const firstOfPaths = (range: resources.TrafficRange, now: number): number => firstOf(PATH_RANGES[range], now)

/** The beginning of the step that this time lies in. */
export const startOf = (time: number, stepMs: number): number => Math.floor(time / stepMs) * stepMs

/** The beginning of the first point of a range; the last point is the current step. */
export const firstOf = ({ stepMs, count }: Pick<Steps, 'stepMs' | 'count'>, now: number): number =>
  startOf(now, stepMs) - (count - 1) * stepMs

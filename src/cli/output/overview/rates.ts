/**
 * How much each environment is visited now, out of counts of minutes that were read every few seconds. Pure. The edges report every
 * few seconds, so a rate is that of the last ten and not of the time since the last look.
 */
import type { TrafficPoint } from '../../../client/index.ts'

type Counts = Pick<TrafficPoint, 'requests' | 'hits' | 'errors'>
type Points = readonly TrafficPoint[]

/** What was read at one time: the last minute and the current one, by the name of the activity. */
export type Sample = { atMs: number; points: ReadonlyMap<string, Points> }

export type Rates = {
  visitsPerSecond: number
  /** Of 100 visits; undefined without a visit. */
  hitPercent?: number | undefined
  errorsPerSecond: number
  /** Milliseconds until 95 of 100 answers began, in the last minute and the current one. */
  p95Ms: number
}

export const WINDOW_MS = 10_000

/** Without those that are too old to matter; of older ones the newest is kept, from which the window is counted. */
export function within(samples: readonly Sample[], nowMs: number): Sample[] {
  const first = samples.findLastIndex(({ atMs }) => atMs <= nowMs - WINDOW_MS)
  return samples.slice(Math.max(0, first))
}

/** With one sample alone, the rate is that of its two minutes. */
export function ratesOf(samples: readonly Sample[], name: string): Rates {
  const last = samples.at(-1)
  const points = last?.points.get(name) ?? []
  const p95Ms = Math.max(0, ...points.map((point) => point.p95Ms))
  const pairs = samples.slice(1).map((sample, at) => [samples[at], sample] as const)
  const known = pairs.filter(([from]) => from?.points.has(name))
  const counts =
    known.length > 0
      ? known.map(([from, to]) => between(from?.points.get(name) ?? [], to.points.get(name) ?? []))
      : points
  const total = counts.reduce<Counts>(plus, NONE)
  const seconds = known.length > 0 ? secondsBetween(known[0]?.[0], last) : secondsOf(points, last?.atMs ?? 0)
  return {
    visitsPerSecond: seconds > 0 ? total.requests / seconds : 0,
    hitPercent: total.requests > 0 ? (100 * total.hits) / total.requests : undefined,
    errorsPerSecond: seconds > 0 ? total.errors / seconds : 0,
    p95Ms,
  }
}

const NONE: Counts = { requests: 0, hits: 0, errors: 0 }

const plus = (a: Counts, b: Counts): Counts => ({
  requests: a.requests + b.requests,
  hits: a.hits + b.hits,
  errors: a.errors + b.errors,
})

/** What came between two looks. A service that was started again may have forgotten some. */
function between(from: Points, to: Points): Counts {
  const before = new Map(from.map((point) => [point.time, point]))
  return to
    .filter(({ time }) => time >= (from.at(-1)?.time ?? ''))
    .map((point) => minus(point, before.get(point.time) ?? NONE))
    .reduce(plus, NONE)
}

const minus = (a: Counts, b: Counts): Counts => ({
  requests: Math.max(0, a.requests - b.requests),
  hits: Math.max(0, a.hits - b.hits),
  errors: Math.max(0, a.errors - b.errors),
})

const secondsBetween = (from: Sample | undefined, to: Sample | undefined): number =>
  from && to ? (to.atMs - from.atMs) / 1000 : 0

/** The clocks of two machines may differ: the current minute has between none and all of its seconds. */
function secondsOf(points: Points, atMs: number): number {
  const current = points.at(-1)
  if (!current) return 0
  return 60 * (points.length - 1) + Math.min(60, Math.max(1, (atMs - Date.parse(current.time)) / 1000))
}

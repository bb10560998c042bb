/** How long each part of a publish took, and percentiles of many: pure. */
import type { resources } from '../contract/index.ts'
import type { Publish } from './records.ts'

export type PublishParts = {
  waitingMs?: number
  buildingMs?: number
  switchingMs?: number
  untilVisitMs?: number
  visibleMs?: number
}

/** A purge without an end was made by a process that died: its caller got no answer, and has to call again. */
const LONGEST_PURGE_MS = 5 * 60_000

export function stateOf({ kind, state, callTime }: Publish, now: number): resources.PublishState {
  return kind === 'PURGE' && state === 'UNDER_WAY' && now - callTime > LONGEST_PURGE_MS ? 'FAILED' : state
}

/** Clocks of machines differ a little: no part is shorter than nothing. */
export function partsOf(publish: Publish): PublishParts {
  const { kind, state, callTime, beginTime, endTime, visitTime } = publish
  const between = (from: number, to: number) => Math.max(0, to - from)
  const visibleTime = state === 'VISIBLE' ? endTime : null
  // One that failed was built until then.
  const builtTime = publish.builtTime ?? (kind === 'BUILD' && visibleTime === null ? endTime : null)
  return {
    ...(beginTime === null ? {} : { waitingMs: between(callTime, beginTime) }),
    ...(beginTime === null || builtTime === null ? {} : { buildingMs: between(beginTime, builtTime) }),
    ...(visibleTime === null
      ? {}
      : {
          ...(beginTime === null ? {} : { switchingMs: between(builtTime ?? beginTime, visibleTime) }),
          visibleMs: between(callTime, visibleTime),
          ...(visitTime === null ? {} : { untilVisitMs: between(visibleTime, visitTime) }),
        }),
  }
}

/** Later than the environment had promised when it was recorded. */
export function isLate(publish: Publish): boolean {
  const { visibleMs } = partsOf(publish)
  const { promiseSeconds } = publish
  return visibleMs !== undefined && promiseSeconds !== null && visibleMs > promiseSeconds * 1000
}

/** By the nearest rank: each is the time of a publish that there was. */
export function percentilesOf(times: readonly (number | undefined)[]): resources.PublishPercentiles {
  const sorted = times.filter((ms) => ms !== undefined).toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) }
}

/** What became visible counts by its times, and the others by how they ended. */
export function timesOf(
  kind: resources.PublishKind,
  publishes: readonly Publish[],
  now: number,
): resources.PublishTimesOfKind {
  const mine = publishes.filter((one) => one.kind === kind)
  const visible = mine.filter(({ state }) => state === 'VISIBLE')
  const parts = visible.map(partsOf)
  const states = Map.groupBy(mine, (one) => stateOf(one, now))
  return {
    kind,
    visible: percentilesOf(parts.map(({ visibleMs }) => visibleMs)),
    waiting: percentilesOf(parts.map(({ waitingMs }) => waitingMs)),
    building: percentilesOf(parts.map(({ buildingMs }) => buildingMs)),
    switching: percentilesOf(parts.map(({ switchingMs }) => switchingMs)),
    untilVisit: percentilesOf(parts.map(({ untilVisitMs }) => untilVisitMs)),
    late: visible.filter(isLate).length,
    states: [...states].map(([state, { length }]) => ({ state, count: length })),
  }
}

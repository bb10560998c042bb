/** Publishes as callers see them: one by one, and as percentiles. */
import { type Clock, toRfc3339 } from '../base/index.ts'
import { names, resources } from '../contract/index.ts'
import type { Page, PageOf } from '../storage/index.ts'
import type { Publish, PublishRecords } from './records.ts'
import { isLate, partsOf, stateOf, timesOf } from './times.ts'

type Origin = { requestedBy: resources.Requester | null }

type Parts = {
  clock: Clock
  records: Pick<PublishRecords, 'list' | 'since'>
  /** Who requested these operations, as far as that is kept. */
  originsOf(operationIds: readonly string[]): Promise<ReadonlyMap<string, Origin>>
}

const HOUR_MS = 60 * 60_000
const RANGES_MS: Record<resources.TrafficRange, number> = {
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
}

export function createPublishes({ clock, records, originsOf }: Parts) {
  return {
    /** The newest first. */
    async list(
      at: names.EnvironmentPath,
      page: Page,
      kind?: resources.PublishKind,
    ): Promise<PageOf<resources.Publish>> {
      const { items, nextPageToken } = await records.list(at.environment, page, kind)
      const origins = await originsOf(items.flatMap(({ operationId }) => operationId ?? []))
      const now = clock.now()
      const shown = items.map((one) => {
        const requestedBy = origins.get(one.operationId ?? '')?.requestedBy ?? null
        return { ...toResource(at, one, now), requestedBy }
      })
      return { items: shown, nextPageToken }
    },

    async times(
      at: names.EnvironmentPath,
      range: resources.TrafficRange,
      promiseSeconds: number | null,
    ): Promise<resources.PublishTimes> {
      const now = clock.now()
      const start = now - RANGES_MS[range]
      const found = await records.since(at.environment, start)
      return {
        name: names.publishTimesResource(at),
        startTime: toRfc3339(start),
        ...(promiseSeconds === null ? {} : { promiseSeconds }),
        kinds: resources.PUBLISH_KINDS.map((kind) => timesOf(kind, found, now)),
      }
    },
  }
}

export type Publishes = ReturnType<typeof createPublishes>

function toResource(at: names.EnvironmentPath, publish: Publish, now: number): Omit<resources.Publish, 'requestedBy'> {
  const { id, kind, trigger, operationId, buildId, reason, calls, callTime, promiseSeconds } = publish
  const state = stateOf(publish, now)
  const endField = state === 'VISIBLE' ? 'visibleTime' : 'endTime'
  return {
    name: names.publishResource(at, id),
    kind,
    trigger,
    operation: operationId === null ? '' : names.operationResource(at, operationId),
    build: buildId === null ? '' : names.buildResource(at, buildId),
    state,
    ...(reason === null ? {} : { reason }),
    calls,
    callTime: toRfc3339(callTime),
    ...timeAt('beginTime', publish.beginTime),
    ...timeAt('builtTime', publish.builtTime),
    ...timeAt(endField, publish.endTime),
    ...timeAt('firstVisitTime', publish.visitTime),
    ...partsOf(publish),
    ...(promiseSeconds === null ? {} : { promiseSeconds }),
    late: isLate(publish),
  }
}

const timeAt = (name: string, time: number | null) => (time === null ? {} : { [name]: toRfc3339(time) })

/** How long publishes of an environment take: from the call to what visitors get. */
import { LIMITS } from '../../limits.ts'
import { array, boolean, integer, nullable, object, oneOf, optional, type Static, string, time } from '../../schema.ts'
import { TRIGGERS } from '../operation.ts'
import { requestedBy } from '../people.ts'
import { TRAFFIC_RANGES } from '../traffic.ts'

export const PUBLISH_KINDS = ['BUILD', 'PURGE'] as const
export type PublishKind = (typeof PUBLISH_KINDS)[number]

export const PUBLISH_STATES = [
  'UNDER_WAY',
  'VISIBLE',
  'UNCHANGED',
  'HELD',
  'FAILED',
  'CANCELLED',
  'SUPERSEDED',
] as const
export type PublishState = (typeof PUBLISH_STATES)[number]

/** On an environment. Null: it promises nothing. */
export const publishPromiseSeconds = nullable(integer({ minimum: 1, maximum: LIMITS.publishPromiseSeconds }), {
  description:
    'How long a publish may take, from the call until every edge answers with what is new. A slower one is marked, and is a notice (`PUBLISH_LATE`). Null: nothing is promised.',
})

const ms = (description: string) => optional(integer({ description }))

export const publish = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/publishes/{publish}`' }),
    kind: oneOf(PUBLISH_KINDS, { description: 'Whether something was built, or the cache was purged.' }),
    trigger: oneOf(TRIGGERS),
    requestedBy,
    operation: string({ description: 'The operation that did it; empty for a purge that has not ended.' }),
    build: string({ description: 'Empty for a purge.' }),
    state: oneOf(PUBLISH_STATES, {
      description:
        'UNDER_WAY: edges are being told. VISIBLE: every edge answers with it. Others never became visible. UNCHANGED: visitors had the same output already. HELD: the build looked wrong, or failed its check. SUPERSEDED: a newer upload took its place.',
    }),
    reason: optional(string({ description: 'Why it was held or failed: one of the reasons of the error reference.' })),
    calls: integer({ description: 'How many calls it satisfied: those that came while a build waited joined it.' }),
    callTime: time('When the first of them came.'),
    beginTime: optional(time('When the build or the purge began.')),
    builtTime: optional(time('When the build had ended, and what it made was started.')),
    visibleTime: optional(time('When the switch or the purge was done at every edge.')),
    firstVisitTime: optional(
      time(
        'When the first visitor got a page after it, at any edge. Absent where there was none before the next switch, or where the edge was restarted before.',
      ),
    ),
    endTime: optional(time('When it ended, where it did not become visible.')),
    waitingMs: ms('From the first call until it began.'),
    buildingMs: ms('How long it was built.'),
    switchingMs: ms('From there until it was visible: starting the app, the switch, or the purge.'),
    untilVisitMs: ms('From there until the first visit; 0 where an edge had a visitor before the last edge was told.'),
    visibleMs: ms('From the first call until it was visible.'),
    promiseSeconds: optional(integer({ description: 'What the environment promised at that time.' })),
    late: boolean({ description: 'Whether it became visible later than promised.' }),
  },
  { title: 'Publish' },
)
export type Publish = Static<typeof publish>

const percentiles = object(
  {
    count: integer({ description: 'How many they are of.' }),
    p50Ms: integer({ description: 'Half of them took at most this long. 0 where there are none.' }),
    p95Ms: integer({ description: 'The same, for 95 of 100.' }),
    p99Ms: integer({ description: 'The same, for 99 of 100.' }),
  },
  { title: 'PublishPercentiles' },
)
export type PublishPercentiles = Static<typeof percentiles>

const timesOfKind = object(
  {
    kind: oneOf(PUBLISH_KINDS),
    visible: percentiles,
    waiting: percentiles,
    building: percentiles,
    switching: percentiles,
    untilVisit: percentiles,
    late: integer({ description: 'Publishes that became visible later than promised.' }),
    states: array(object({ state: oneOf(PUBLISH_STATES), count: integer() }), {
      description: 'How many ended in each state; states without any are left out.',
    }),
  },
  { title: 'PublishTimesOfKind' },
)
export type PublishTimesOfKind = Static<typeof timesOfKind>

export const publishRange = oneOf(TRAFFIC_RANGES, { description: 'How far back; `7d` unless given.' })

export const publishTimes = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/publishTimes`' }),
    startTime: time('Publishes whose first call came since then count, as far as they are kept.'),
    promiseSeconds: optional(integer({ description: 'What the environment promises now.' })),
    kinds: array(timesOfKind, { description: 'Builds first, then purges.' }),
  },
  { title: 'PublishTimes' },
)
export type PublishTimes = Static<typeof publishTimes>

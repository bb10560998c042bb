import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, at, build, facts, holding, live, NOW, operation, stored } from '../../../test/support/modules/trace.ts'
import { toFailure } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import { timelineOf } from './timeline.ts'

const eventsOf = (given: Parameters<typeof facts>[0]) => timelineOf(facts(given)).map(({ what }) => what)
const detailsOf = (given: Parameters<typeof facts>[0], kind: string) =>
  timelineOf(facts(given)).flatMap(({ what, detail }) => (what === kind ? [detail] : []))

test('all events are one list in the order of time, and it ends now', () => {
  const everything = {
    ...holding(stored({ storeTime: at(3000), validateTime: at(3500), isFresh: false, ageSeconds: 90 })),
    purges: [{ id: 'p', source: 'API', what: { paths: ['/news'] }, count: 1, time: at(2000) }],
  } as const
  assert.deepEqual(eventsOf(everything), ['TRIGGER', 'BUILD', 'LIVE', 'PURGE', 'STORED', 'VALIDATED', 'EXPIRED', 'NOW'])
  const times = timelineOf(facts(everything)).map(({ time }) => time)
  assert.deepEqual(times, times.toSorted())
  assert.equal(times.at(-1), NOW)
})

test('a build comes before its switch, although its end is recorded after it', () => {
  assert.deepEqual(eventsOf({}), ['TRIGGER', 'BUILD', 'LIVE', 'NOW'])
})

test('a last build that is not live is shown with how it ended', () => {
  const failure = toFailure(new Problem('OUT_OF_MEMORY', 'It reached its limit.'), 1, [])
  const lastBuild = build('build 2', {
    trigger: 'REBUILD',
    state: 'FAILED',
    failure,
    createTime: at(100),
    finishTime: at(140),
  })
  assert.deepEqual(eventsOf({ lastBuild }), ['TRIGGER', 'BUILD', 'LIVE', 'TRIGGER', 'BUILD', 'NOW'])
  assert.deepEqual(detailsOf({ lastBuild }, 'TRIGGER'), ['An archive was uploaded.', 'A Rebuild was asked for.'])
  assert.equal(detailsOf({ lastBuild }, 'BUILD')[1], 'The build failed (OUT_OF_MEMORY): It reached its limit.')
})

test('a running build is shown at the time when it began', () => {
  const lastBuild = build('build 2', {
    state: 'RUNNING',
    phase: 'BUILDING',
    createTime: at(100),
    startTime: at(110),
    finishTime: null,
  })
  const [event] = timelineOf(facts({ lastBuild })).filter(
    ({ detail }) => detail === 'The build is under way (BUILDING).',
  )
  assert.equal(event?.time, at(110))
})

test('a build that changed nothing says so', () => {
  const lastBuild = build('build 2', { isUnchanged: true, createTime: at(100), finishTime: at(120) })
  assert.match(
    detailsOf({ lastBuild }, 'BUILD')[1] ?? '',
    /with the output that visitors already get: nothing was switched\.$/,
  )
})

test('a deployment that was made live again is shown with the request and its time', () => {
  const by = operation('activating', { trigger: 'ACTIVATE', createTime: at(500), doneTime: at(502) })
  const events = timelineOf(facts({ live: live({ time: at(502), by }), lastOperation: by }))
  assert.deepEqual(
    events.map(({ what, time }) => [what, time]),
    [
      ['TRIGGER', at(0)],
      ['BUILD', at(21)],
      ['TRIGGER', at(500)],
      ['LIVE', at(502)],
      ['NOW', NOW],
    ],
  )
})

test('the last operation is shown, also when it failed; a purge is shown once', () => {
  const error = { code: 9 as const, message: 'The app did not start.', details: [] }
  const failed = operation('activating', { trigger: 'ACTIVATE', createTime: at(900), error })
  assert.deepEqual(
    detailsOf({ lastOperation: failed }, 'TRIGGER')[1],
    `An earlier deployment was to be made live again. That failed: The app did not start.`,
  )
  const purging = operation('purging', { trigger: 'PURGE_CACHE', createTime: at(900) })
  assert.deepEqual(eventsOf({ lastOperation: purging }), ['TRIGGER', 'BUILD', 'LIVE', 'NOW'])
})

test('a purge shows what was purged and who asked', () => {
  const record = { id: 'p', time: at(2000) }
  const purges = [
    { ...record, source: 'WEBHOOK', what: {}, count: 0 },
    { ...record, source: 'APP', what: { tags: ['news', 'home'] }, count: 30 },
    { ...record, source: 'API', what: { paths: ['/a'] }, count: 1 },
    { ...record, source: 'APP', what: { paths: ['/'], tags: ['_N_T_/layout', 'news'] }, count: 3 },
    { ...record, source: 'APP', what: { tags: ['_N_T_/blog/[slug]/page', '_N_T_/blog/layout'] }, count: 2 },
  ] as const
  assert.deepEqual(detailsOf({ purges }, 'PURGE'), [
    'Everything was purged, by a webhook.',
    'tag news, tag home and 28 more were purged, by the app itself.',
    '/a was purged, by a call of the API.',
    'Everything was purged, by the app itself.',
    '/blog/[slug], all pages under /blog were purged, by the app itself.',
  ])
})

test('a purge that the edge reports too is shown once, and one by a switch is shown beside it', () => {
  const purges = [{ id: 'p', source: 'API', what: {}, count: 0, time: at(2000) }] as const
  const lastPurge = (time: number, by: 'all' | 'switch') => ({ inspection: { stored: [], lastPurge: { time, by } } })
  assert.equal(detailsOf({ purges, ...lastPurge(at(1999), 'all') }, 'PURGE').length, 1)
  assert.deepEqual(detailsOf({ purges, ...lastPurge(at(2500), 'switch') }, 'PURGE'), [
    'Everything was purged, by a call of the API.',
    'The switch purged everything that was stored before it.',
  ])
})

test('purges of the edge are no events of a file', () => {
  const origin = { kind: 'FILE', status: 200, file: '/index.html', bytes: 9, digest: 'd' } as const
  const inspection = { stored: [], lastPurge: { time: at(20), by: 'switch' } } as const
  assert.deepEqual(eventsOf({ origin, inspection }), ['TRIGGER', 'BUILD', 'LIVE', 'NOW'])
})

test('the last line compares what is stored with what the app answers', () => {
  const last = (given: Parameters<typeof facts>[0]) => timelineOf(facts(given)).at(-1)?.detail
  assert.equal(
    last(holding(stored())),
    'Asked past the cache, the app answers with status 200 and 1.2 KB. The stored copy is the same.',
  )
  assert.match(last({ ...holding(stored()), origin: answer({ etag: '"two"' }) }) ?? '', /The stored copy is another\.$/)
  assert.match(last(holding(stored(), stored())) ?? '', /2 copies are stored, which differ by request headers\.$/)
  assert.match(last({ inspection: undefined }) ?? '', /The edge does not answer at the moment\.$/)
  assert.equal(
    last({ origin: { kind: 'SILENT', why: 'sleeps until the next visitor' } }),
    'The app sleeps until the next visitor, and was not asked.',
  )
})

test('if nothing was ever deployed there are only the requests', () => {
  const nothing = { live: undefined, lastBuild: undefined, origin: { kind: 'NOTHING' } } as const
  const created = operation('creating', { trigger: 'CREATE' })
  assert.deepEqual(eventsOf({ ...nothing, lastOperation: created }), ['TRIGGER', 'NOW'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Publish } from './records.ts'
import { isLate, partsOf, percentilesOf, stateOf, timesOf } from './times.ts'

const publish = (given: Partial<Publish> = {}): Publish => ({
  ...{ id: '1', environmentId: 'e', kind: 'BUILD', trigger: 'REBUILD', operationId: 'o', buildId: 'b' },
  ...{ deploymentId: 'd', state: 'VISIBLE', reason: null, calls: 1, callTime: 1000, beginTime: 3000, builtTime: 9000 },
  ...{ endTime: 10_000, visitTime: 12_500, promiseSeconds: null },
  ...given,
})

test('the parts of a publish follow each other, and end with the first visit', () => {
  const parts = { waitingMs: 2000, buildingMs: 6000, switchingMs: 1000, visibleMs: 9000, untilVisitMs: 2500 }
  assert.deepEqual(partsOf(publish()), parts)
})

test('a purge has no build: it is switched as soon as it has begun', () => {
  const purge = publish({ kind: 'PURGE', beginTime: 1010, builtTime: null, endTime: 1050, visitTime: null })
  assert.deepEqual(partsOf(purge), { waitingMs: 10, switchingMs: 40, visibleMs: 50 })
})

test('a visit at one edge before another one is told counts as at once', () => {
  assert.equal(partsOf(publish({ visitTime: 9990 })).untilVisitMs, 0)
})

test('what did not become visible has the parts that it got to, and is never late', () => {
  const failed = publish({ state: 'FAILED', builtTime: null, endTime: 90_000, visitTime: null, promiseSeconds: 1 })
  assert.deepEqual(partsOf(failed), { waitingMs: 2000, buildingMs: 87_000 })
  assert.deepEqual(partsOf({ ...failed, state: 'SUPERSEDED', beginTime: null }), {})
  assert.deepEqual(partsOf({ ...failed, kind: 'PURGE' }), { waitingMs: 2000 })
  assert.equal(isLate(failed), false)
})

test('a publish is late above what was promised, and not at it', () => {
  assert.equal(isLate(publish({ promiseSeconds: 9 })), false)
  assert.equal(isLate(publish({ promiseSeconds: 8 })), true)
  assert.equal(isLate(publish({ promiseSeconds: null })), false)
})

test('a purge whose process died counts as failed after a while; a build is repeated', () => {
  const purge = publish({ kind: 'PURGE', state: 'UNDER_WAY', endTime: null })
  assert.equal(stateOf(purge, 61_000), 'UNDER_WAY')
  assert.equal(stateOf(purge, 1000 + 6 * 60_000), 'FAILED')
  assert.equal(stateOf(publish({ state: 'UNDER_WAY' }), 1000 + 6 * 60_000), 'UNDER_WAY')
})

test('percentiles are times that there were, by the nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at)
  assert.deepEqual(percentilesOf(hundred), { count: 100, p50Ms: 50, p95Ms: 95, p99Ms: 99 })
  assert.deepEqual(percentilesOf([7, undefined]), { count: 1, p50Ms: 7, p95Ms: 7, p99Ms: 7 })
  assert.deepEqual(percentilesOf([3, 1]), { count: 2, p50Ms: 1, p95Ms: 3, p99Ms: 3 })
  assert.deepEqual(percentilesOf([]), { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 })
})

test('only what became visible counts for times, and each kind by itself', () => {
  const all = [
    publish({ promiseSeconds: 5 }),
    publish({ state: 'FAILED', endTime: 99_000 }),
    publish({ state: 'HELD' }),
    publish({ state: 'FAILED' }),
    publish({ kind: 'PURGE', endTime: 1050 }),
  ]
  const { visible, late, states } = timesOf('BUILD', all, 100_000)
  assert.deepEqual([visible.count, visible.p99Ms, late], [1, 9000, 1])
  assert.deepEqual(states, [
    { state: 'VISIBLE', count: 1 },
    { state: 'FAILED', count: 2 },
    { state: 'HELD', count: 1 },
  ])
  assert.equal(timesOf('PURGE', all, 100_000).visible.p50Ms, 50)
})

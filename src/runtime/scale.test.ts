import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUSY_MS, CALM_MS, type Load, nextCount, type Trend, trendOf } from './scale.ts'

const SCALING = { minInstances: 0, maxInstances: 3, requestsPerInstance: 10 }
const load = (instances: number, inFlight: number, scaling = SCALING): Load => ({ scaling, instances, inFlight })
const since = (kind: 'busy' | 'calm', now = 0): Trend => ({ kind, since: now })

test('an app with more requests in flight than its instances should have is busy', () => {
  assert.equal(trendOf(load(1, 10), undefined, 5), undefined)
  assert.deepEqual(trendOf(load(1, 11), undefined, 5), since('busy', 5))
  assert.deepEqual(trendOf(load(2, 21), undefined, 5), since('busy', 5))
})

test('an app is calm when half of what one instance fewer should have is in flight', () => {
  assert.deepEqual(trendOf(load(3, 10), undefined, 5), since('calm', 5))
  assert.equal(trendOf(load(3, 11), undefined, 5), undefined)
})

test('the time counts from when it became busy', () => {
  assert.deepEqual(trendOf(load(1, 50), since('busy', 3), 9), since('busy', 3))
  assert.deepEqual(trendOf(load(3, 0), since('busy', 3), 9), since('calm', 9))
})

test('a busy app gets one instance more after some seconds, up to its maximum', () => {
  assert.equal(nextCount(load(1, 50), since('busy'), BUSY_MS - 1), 1)
  assert.equal(nextCount(load(1, 50), since('busy'), BUSY_MS), 2)
  assert.equal(nextCount(load(3, 500), since('busy'), BUSY_MS), 3)
})

test('a calm app loses one instance after half a minute, down to its minimum and never the first', () => {
  assert.equal(nextCount(load(3, 0), since('calm'), CALM_MS - 1), 3)
  assert.equal(nextCount(load(3, 0), since('calm'), CALM_MS), 2)
  assert.equal(nextCount(load(2, 0, { ...SCALING, minInstances: 2 }), since('calm'), CALM_MS), 2)
  assert.equal(nextCount(load(1, 0), since('calm'), CALM_MS), 1)
})

test('a minimum and a maximum that were changed apply at once', () => {
  assert.equal(nextCount(load(1, 0, { ...SCALING, minInstances: 3 }), undefined, 0), 2)
  assert.equal(nextCount(load(3, 0, { ...SCALING, maxInstances: 1 }), undefined, 0), 2)
})

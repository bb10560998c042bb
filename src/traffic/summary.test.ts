import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING } from './counts.ts'
import { HOUR_MS, MINUTE_MS } from './steps.ts'
import { createSummary } from './summary.ts'

const NOW = Date.UTC(2026, 4, 20, 13, 37)
const HOUR = NOW - 37 * MINUTE_MS
const at = { account: 'agency', app: 'shop', environment: 'e' }
const some = (requests: number, hits = 0, errors = 0) => ({ ...NOTHING, requests, hits, errors })

test('hours and minutes are added up in their hour, the current one last', () => {
  const summary = createSummary(NOW)
  summary.add('e', HOUR, some(5, 4, 1))
  summary.add('e', NOW - 3 * MINUTE_MS, some(2, 1))
  summary.add('e', HOUR - HOUR_MS, some(7, 7))
  summary.add('other', HOUR, some(100))
  const found = summary.of(at)
  assert.equal(found?.environment, 'accounts/agency/apps/shop/environments/e')
  assert.equal(Date.parse(found?.startTime ?? ''), HOUR - 23 * HOUR_MS)
  assert.equal(found?.stepSeconds, 3600)
  assert.deepEqual(found?.requests, [...Array(22).fill(0), 7, 7])
  assert.deepEqual(found?.hits, [...Array(22).fill(0), 7, 5])
  assert.deepEqual(found?.errors, [...Array(22).fill(0), 0, 1])
})

test('what is older than a day, or later than now, is in no step', () => {
  const summary = createSummary(NOW)
  summary.add('e', HOUR - 24 * HOUR_MS, some(5))
  summary.add('e', HOUR + HOUR_MS, some(5))
  assert.equal(summary.of(at), undefined)
  summary.add('e', HOUR - 23 * HOUR_MS, some(1))
  assert.equal(summary.of(at)?.requests[0], 1)
})

test('an environment without visits has no summary', () => {
  const summary = createSummary(NOW)
  summary.add('e', HOUR, NOTHING)
  assert.equal(summary.of(at), undefined)
})

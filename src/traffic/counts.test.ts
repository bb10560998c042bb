import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Counts, fromText, NOTHING, percentile, sum, toText } from './counts.ts'

const BOUNDS_MS = [1, 2, 4, 8]

test('counts are added one by one, whichever has more latencies', () => {
  const one: Counts = { requests: 3, hits: 2, bytes: 100, errors: 1, statuses: [1, 1, 0], latencies: [2, 0, 1] }
  const other: Counts = { requests: 1, hits: 0, bytes: 5, errors: 0, statuses: [0, 0, 1], latencies: [1] }
  const both = { requests: 4, hits: 2, bytes: 105, errors: 1, statuses: [1, 1, 1], latencies: [3, 0, 1] }
  assert.deepEqual(sum(one, other), both)
  assert.deepEqual(sum(other, one), both)
  assert.deepEqual(sum(NOTHING, one), one)
  assert.deepEqual(NOTHING.latencies, [])
})

test('the stored text is short, and is read back without the zeros at the end', () => {
  const statuses = [2, 0, 1]
  const counts: Counts = { requests: 3, hits: 2, bytes: 2 ** 45, errors: 0, statuses, latencies: [2, 0, 1, 0, 0] }
  assert.equal(toText(counts), '[3,2,35184372088832,0,[2,0,1],2,0,1]')
  assert.deepEqual(fromText(toText(counts)), { ...counts, latencies: [2, 0, 1] })
  assert.deepEqual(fromText(toText(NOTHING)), NOTHING)
  const earlier = '[3,2,35184372088832,0,2,0,1]'
  assert.deepEqual(fromText(earlier), { ...counts, statuses: [0, 0, 0], latencies: [2, 0, 1] })
})

test('a percentile lies in the bucket of the answer that it is about', () => {
  assert.equal(percentile([], 0.5, BOUNDS_MS), 0)
  assert.equal(percentile([0, 0, 0, 0, 0], 0.95, BOUNDS_MS), 0)
  // 90 within 1 ms, 10 between 4 and 8.
  const skewed = [90, 0, 0, 10, 0]
  assert.equal(percentile(skewed, 0.5, BOUNDS_MS), 0.6)
  assert.equal(percentile(skewed, 0.9, BOUNDS_MS), 1)
  assert.equal(percentile(skewed, 0.95, BOUNDS_MS), 6)
  assert.equal(percentile(skewed, 1, BOUNDS_MS), 8)
})

test('what came later than the last bound is between it and twice that', () => {
  assert.equal(percentile([0, 0, 0, 0, 1], 0.5, BOUNDS_MS), 12)
  assert.equal(percentile([0, 0, 0, 0, 1], 1, BOUNDS_MS), 16)
})

test('percentiles rise with the share', () => {
  const latencies = [5, 0, 7, 1, 3]
  let last = 0
  for (let share = 0.01; share <= 1; share += 0.01) {
    const now = percentile(latencies, share, BOUNDS_MS)
    assert.ok(now >= last, `${share}: ${now} after ${last}`)
    last = now
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrafficSummary } from '../../../api/types.ts'
import { dayOf, inWords } from './day.ts'
import { bars, line } from './spark.ts'

test('the highest bar reaches the top, the smallest can be seen, and no bar stands for nothing', () => {
  assert.equal(bars([0, 1, 1000, 500]), 'M24 22v-2h23v2zM48 22v-22h23v22zM72 22v-11h23v11z')
  assert.equal(bars([0, 0]), '')
})

test('a line breaks where there is no value, and a value alone is a dash', () => {
  assert.equal(line([100, 0, null, 50]), 'M12 1L36 21M72 11h24')
  assert.equal(line([null, null]), '')
})

const summary = (requests: number[], hits: number[], errors: number[]) =>
  ({ requests, hits, errors }) as unknown as TrafficSummary

test('the ratio of a day is that of all its requests, and not the mean of its hours', () => {
  const day = dayOf(summary([1000, 0, 10], [900, 0, 0], [0, 0, 1]))
  assert.equal(Math.round(day.hitRatio ?? 0), 89)
  assert.deepEqual(day.hours.hitRatio, [90, null, 0])
  assert.equal(inWords(day), '1,010 requests, 89.1% hits, 1 error')
})

test('without requests there is no ratio', () => {
  const day = dayOf(undefined)
  assert.equal(day.hitRatio, null)
  assert.equal(day.hours.requests.length, 24)
  assert.equal(inWords(day), 'no requests')
})

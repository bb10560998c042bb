import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteTicks, countTicks, percentTicks, stepBegin, stepWords, timeTick, timeToAnswerTicks } from './ticks.ts'

/** A time in the machine's own time zone. */
const local = (hours: number, minutes: number) => new Date(2026, 10, 12, hours, minutes)

test('what is counted has whole numbers beside it', () => {
  assert.deepEqual(countTicks(0), [0, 1, 2])
  assert.deepEqual(countTicks(1), [0, 1, 2])
  assert.deepEqual(countTicks(3), [0, 2, 4])
  assert.deepEqual(countTicks(11), [0, 10, 20])
  assert.deepEqual(countTicks(5), [0, 3, 6])
  assert.deepEqual(countTicks(1_000), [0, 500, 1_000])
  assert.deepEqual(countTicks(2_058), [0, 1_500, 3_000])
  for (let max = 1; max < 3_000; max++) {
    const [, half = 0, top = 0] = countTicks(max)
    assert.ok(top >= max && top <= max * 2 && Number.isInteger(half), `${max}: ${half}, ${top}`)
  }
})

test('sizes have even numbers of their unit beside them', () => {
  assert.deepEqual(byteTicks(0), [0, 1, 2])
  assert.deepEqual(byteTicks(1_500), [0, 1024, 2048])
  assert.deepEqual(byteTicks(900 * 1024), [0, 512 * 1024, 1024 * 1024])
  assert.deepEqual(byteTicks(3 * 1024 ** 3), [0, 2 * 1024 ** 3, 4 * 1024 ** 3])
  for (let max = 1; max < 1e12; max *= 1.7) assert.ok((byteTicks(max)[2] ?? 0) >= max, String(max))
})

test('times to answer may be parts of a millisecond', () => {
  assert.deepEqual(timeToAnswerTicks(0.3), [0, 0.5, 1])
  assert.deepEqual(timeToAnswerTicks(130), [0, 100, 200])
  assert.deepEqual(percentTicks(), [0, 50, 100])
})

test('under the chart stands the time, and the day where it begins', () => {
  assert.equal(timeTick(local(14, 20).getTime() / 1000), '14:20')
  assert.equal(timeTick(local(0, 0).getTime() / 1000), '12 Nov')
})

test('a step says its day where the chart shows several', () => {
  const time = local(14, 20).toISOString()
  assert.equal(stepBegin(time, 60), '14:20')
  assert.equal(stepBegin(time, 600), '12 Nov, 14:20')
  assert.equal(stepWords(time, 600), '12 Nov, 14:20 to 14:30')
})

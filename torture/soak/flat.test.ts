import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../random.ts'
import { judge, type Sample, slopeOf } from './flat.ts'

/** Ten minutes, a sample every five seconds. */
const samples = (valueAt: (minutes: number, index: number) => number): Sample[] =>
  Array.from({ length: 120 }, (_, index) => ({ minutes: index / 12, value: valueAt(index / 12, index) }))

test('constant samples are flat', () => {
  assert.equal(
    judge(
      samples(() => 100),
      0,
    ).isFlat,
    true,
  )
})

test('a leak of two in a minute is seen under noise of twenty', () => {
  const random = createRandom(1, 'noise')
  const leaking = samples((minutes) => 100 + 2 * minutes + 20 * random.next())
  const { slope, isFlat } = judge(leaking, 1)
  assert.equal(isFlat, false)
  assert.ok(Math.abs(slope - 2) < 0.7, `the slope is ${slope}`)
})

test('noise alone is flat', () => {
  const random = createRandom(2, 'noise')
  assert.equal(
    judge(
      samples(() => 100 + 20 * random.next()),
      1,
    ).isFlat,
    true,
  )
})

test('peaks do not count, even at the end', () => {
  assert.equal(slopeOf(samples((_, index) => (index % 10 === 9 || index > 110 ? 1000 : 100))), 0)
})

test('shrinking samples are flat', () => {
  assert.equal(
    judge(
      samples((minutes) => 100 - minutes),
      0,
    ).isFlat,
    true,
  )
})

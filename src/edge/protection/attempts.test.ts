import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAttempts } from './attempts.ts'

function setUp() {
  let nowMs = 1_000_000
  const attempts = createAttempts({ atOnce: 3, perSecond: 0.5 }, () => nowMs)
  return {
    ...attempts,
    pass(ms: number) {
      nowMs += ms
    },
  }
}

test('so many attempts at once, and then one whenever its time has passed', () => {
  const { take, pass } = setUp()
  assert.deepEqual([take('a'), take('a'), take('a'), take('a')], [0, 0, 0, 2000])
  assert.equal(take('b'), 0)
  pass(1500)
  assert.equal(take('a'), 500)
  pass(500)
  assert.deepEqual([take('a'), take('a')], [0, 2000])
  pass(60_000)
  assert.deepEqual([take('a'), take('a'), take('a'), take('a')], [0, 0, 0, 2000])
})

test('an attempt that is given back does not count, and gives no more than there were', () => {
  const { take, giveBack } = setUp()
  for (let times = 0; times < 10; times++) {
    assert.equal(take('a'), 0)
    giveBack('a')
  }
  giveBack('a')
  giveBack('unknown')
  assert.deepEqual([take('a'), take('a'), take('a'), take('a')], [0, 0, 0, 2000])
})

test('attempts of very many clients do not reset the count of one who goes on', () => {
  const { take } = setUp()
  for (let times = 0; times < 3; times++) take('a')
  for (let client = 0; client < 40_000; client++) take(`client ${client}`)
  assert.equal(take('a'), 2000)
})

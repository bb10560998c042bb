import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { createBuckets } from './buckets.ts'

const RATE = { atOnce: 3, perSecond: 2 }

test('so much is paid at once, and then so much a second', async () => {
  const clock = handClock()
  const { take } = createBuckets(clock)
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => take('a', 1, RATE)),
    [0, 0, 0, 500, 500],
  )
  await clock.advance(499)
  assert.equal(take('a', 1, RATE), 1)
  await clock.advance(1)
  assert.deepEqual([take('a', 1, RATE), take('a', 1, RATE)], [0, 500])
  // However long no call comes, no more than the burst is saved up.
  await clock.advance(3_600_000)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => take('a', 1, RATE)),
    [0, 0, 0, 500],
  )
})

test('processes that share a limit have a part of what comes each second, and the burst each', async () => {
  const clock = handClock()
  let sharers = 2
  const { take } = createBuckets(clock, () => sharers)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => take('a', 1, RATE)),
    [0, 0, 0, 1000],
  )
  await clock.advance(1000)
  assert.deepEqual([take('a', 1, RATE), take('a', 1, RATE)], [0, 1000])
  sharers = 1
  await clock.advance(1000)
  assert.equal(take('a', 1, RATE), 0)
})

test('what is refused costs nothing', () => {
  const { take } = createBuckets(handClock())
  assert.equal(take('a', 2, RATE), 0)
  for (let times = 0; times < 100; times++) assert.equal(take('a', 2, RATE), 500)
  assert.equal(take('a', 1, RATE), 0)
})

test('a cost that is more than all at once is never paid', async () => {
  const clock = handClock()
  const { take } = createBuckets(clock)
  assert.ok(take('a', 4, RATE) > 0)
  await clock.advance(3_600_000)
  assert.ok(take('a', 4, RATE) > 0)
})

test('a clock that is set back makes no caller wait until it has caught up', async () => {
  const clock = handClock()
  const { take } = createBuckets(clock)
  for (let times = 0; times < 3; times++) take('a', 1, RATE)
  await clock.advance(-3_600_000)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => take('a', 1, RATE)),
    [0, 0, 0, 500],
  )
})

test('keys are counted apart', () => {
  const { take } = createBuckets(handClock())
  assert.deepEqual(
    ['a', 'a', 'a', 'a', 'b'].map((key) => take(key, 1, RATE)),
    [0, 0, 0, 500, 0],
  )
})

test('ten thousand are remembered: those that owe nothing go first, and then the one that came first', async () => {
  const clock = handClock()
  const { take } = createBuckets(clock)
  const once = { atOnce: 1, perSecond: 1 }
  take('paid', 1, once)
  await clock.advance(1000)
  for (let key = 0; key < 9999; key++) take(`${key}`, 1, once)
  // "paid" owes nothing any more and is removed.
  take('one more', 1, once)
  assert.ok(take('0', 1, once) > 0)
  // Now all of them owe, and the oldest is removed: when it comes again, the next one is removed.
  take('two more', 1, once)
  assert.equal(take('0', 1, once), 0)
  assert.equal(take('1', 1, once), 0)
  assert.ok(take('500', 1, once) > 0)
})

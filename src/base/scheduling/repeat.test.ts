import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { pollUntil, repeat, settlesWithin } from './repeat.ts'

test('work is repeated after each pause until it is stopped', async () => {
  const clock = handClock()
  let count = 0
  const loop = repeat(clock, 100, async () => count++)
  assert.equal(count, 0)
  await clock.advance(100)
  await clock.advance(100)
  assert.equal(count, 2)
  await loop.stop()
  await loop.done
  assert.deepEqual([count, clock.sleeping()], [2, 0])
})

test('work that begins at once is not repeated before it is done', async () => {
  const clock = handClock()
  const first = Promise.withResolvers<void>()
  let count = 0
  const loop = repeat(clock, 100, () => (++count === 1 ? first.promise : Promise.resolve()), { isImmediate: true })
  await clock.advance(1000)
  assert.equal(count, 1)
  first.resolve()
  await first.promise
  await clock.advance(100)
  assert.equal(count, 2)
  await loop.stop()
})

test('a stop waits for work that is under way', async () => {
  const clock = handClock()
  const work = Promise.withResolvers<void>()
  const loop = repeat(clock, 100, () => work.promise)
  await clock.advance(100)
  let isStopped = false
  const stopped = loop.stop().then(() => {
    isStopped = true
  })
  await clock.advance(100)
  assert.equal(isStopped, false)
  work.resolve()
  await stopped
})

test('work that rejects ends the loop', async () => {
  const clock = handClock()
  const loop = repeat(clock, 100, () => Promise.reject(new Error('no')))
  const failed = assert.rejects(loop.done, { message: 'no' })
  await clock.advance(100)
  await failed
  await loop.stop()
  assert.equal(clock.sleeping(), 0)
})

test('a poll asks at least once, and until it is true or the time is over', async () => {
  const clock = handClock()
  const times = { pauseMs: 10, timeoutMs: 20 }
  assert.equal(await pollUntil(clock, () => true, { pauseMs: 10, timeoutMs: 0 }), true)
  let asked = 0
  const third = pollUntil(clock, async () => ++asked === 3, times)
  const never = pollUntil(clock, () => false, times)
  for (let i = 0; i < 3; i++) await clock.advance(10)
  assert.deepEqual([await third, await never, asked], [true, false, 3])
})

test('a poll ends when its signal is aborted', async () => {
  const clock = handClock()
  const stopping = new AbortController()
  const polling = pollUntil(clock, () => false, { pauseMs: 10, timeoutMs: 1000, signal: stopping.signal })
  stopping.abort()
  assert.equal(await polling, false)
})

test('what settles in time is known to have done so, and leaves no timer behind', async () => {
  const clock = handClock()
  assert.equal(await settlesWithin(clock, Promise.resolve(), 100), true)
  await assert.rejects(settlesWithin(clock, Promise.reject(new Error('no')), 100), { message: 'no' })
  assert.equal(clock.sleeping(), 0)
  const late = settlesWithin(clock, new Promise(() => undefined), 100)
  await clock.advance(100)
  assert.equal(await late, false)
})

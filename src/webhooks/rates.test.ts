import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { LIMITS } from '../contract/index.ts'
import { createWebhookRates } from './rates.ts'

function open(limits: { callsPerMinute?: number; guessesPerMinute?: number } = {}) {
  const clock = handClock()
  return { clock, rates: createWebhookRates(clock, { callsPerMinute: 1200, guessesPerMinute: 30, ...limits }) }
}

/** How many of these attempts are allowed. */
const paid = (attempts: number, attempt: () => unknown): number =>
  Array.from({ length: attempts }, attempt).filter((problem) => problem === undefined).length

test('an environment takes 1,200 calls at once, and 20 a second from then on', async () => {
  const { clock, rates } = open()
  const call = () => rates.call('environment', 'REBUILD')
  assert.equal(paid(2000, call), 1200)
  const refusal = call()
  assert.deepEqual([refusal?.reason, refusal?.retryAfterSeconds], ['TOO_MANY_TRIGGERS', 1])
  await clock.advance(1000)
  assert.equal(paid(100, call), 20)
  await clock.advance(60_000)
  assert.equal(paid(2000, call), 1200)
})

test('of two control processes, each takes half of the calls that come each second', async () => {
  const clock = handClock()
  const limits = { callsPerMinute: 1200, guessesPerMinute: 30, sharers: () => 2 }
  const processes = [createWebhookRates(clock, limits), createWebhookRates(clock, limits)]
  const calls = () => processes.map((rates) => paid(2000, () => rates.call('environment', 'REBUILD')))
  assert.deepEqual(calls(), [1200, 1200])
  await clock.advance(1000)
  assert.deepEqual(calls(), [10, 10])
})

test('environments are counted apart, and so are builds and purges of one', () => {
  const { rates } = open({ callsPerMinute: 2 })
  assert.equal(
    paid(9, () => rates.call('a', 'PURGE_CACHE')),
    2,
  )
  assert.equal(
    paid(9, () => rates.call('a', 'REBUILD')),
    2,
  )
  assert.equal(
    paid(9, () => rates.call('a', 'CLEAN_REBUILD')),
    0,
  )
  assert.equal(
    paid(9, () => rates.call('b', 'PURGE_CACHE')),
    2,
  )
})

test('only the first refusal of each minute is recorded', async () => {
  const { clock, rates } = open()
  const isFirst = () => rates.isFirstRefusal('environment', 'REBUILD')
  assert.deepEqual([isFirst(), isFirst(), isFirst()], [true, false, false])
  assert.equal(rates.isFirstRefusal('environment', 'PURGE_CACHE'), true)
  assert.equal(rates.isFirstRefusal('another', 'REBUILD'), true)
  await clock.advance(59_999)
  assert.equal(isFirst(), false)
  await clock.advance(1)
  assert.deepEqual([isFirst(), isFirst()], [true, false])
})

test('guesses are counted by address, and refused with the time to try again', async () => {
  const { clock, rates } = open()
  assert.equal(
    paid(100, () => rates.guess('192.0.2.1')),
    30,
  )
  assert.deepEqual(
    [rates.guess('192.0.2.1')?.reason, rates.guess('192.0.2.1')?.retryAfterSeconds],
    ['TOO_MANY_GUESSES', 2],
  )
  assert.equal(
    paid(100, () => rates.guess('192.0.2.2')),
    30,
  )
  await clock.advance(2000)
  assert.equal(
    paid(100, () => rates.guess('192.0.2.1')),
    1,
  )
})

test('guesses do not limit callers that have a token', () => {
  const { rates } = open({ guessesPerMinute: 1 })
  paid(100, () => rates.guess('192.0.2.1'))
  assert.equal(rates.call('environment', 'REBUILD'), undefined)
})

test('reads of operations have a limit of their own, and do not use up calls', async () => {
  const { clock, rates } = open({ callsPerMinute: 1, guessesPerMinute: 1 })
  const read = () => rates.read('environment')
  assert.equal(paid(2 * LIMITS.webhookReads, read), LIMITS.webhookReads)
  const refusal = read()
  assert.deepEqual([refusal?.reason, refusal?.retryAfterSeconds], ['TOO_MANY_TRIGGERS', 1])
  assert.equal(rates.read('another'), undefined)
  assert.equal(rates.call('environment', 'REBUILD'), undefined)
  await clock.advance(60_000)
  assert.equal(paid(2 * LIMITS.webhookReads, read), LIMITS.webhookReads)
})

for (const [one, other, isSame] of [
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['2001:db8::1', '2001:db8:0:0:1::', true],
  ['2001:db8::1', '2001:db8:0:1::1', false],
  ['::1', '::2', true],
  ['::', '::1', true],
  ['1::', '1:0:0:0:5::', true],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
  ['192.0.2.1', '192.0.2.2', false],
  ['', 'x', false],
] as const) {
  test(`${one || 'no address'} and ${other} are ${isSame ? 'one neighbourhood' : 'two'}`, () => {
    const { rates } = open({ guessesPerMinute: 1 })
    assert.equal(rates.guess(one), undefined)
    assert.equal(rates.guess(other) !== undefined, isSame)
  })
}

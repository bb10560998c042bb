import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LookState, nextLook, pollTime } from './plan.ts'

const MINUTE_MS = 60_000
const now = 1_000_000_000
const state = (given: Partial<LookState> = {}): LookState => ({
  now,
  pollMinutes: null,
  attempts: 0,
  isAskedAgain: false,
  spread: 0.5,
  ...given,
})

test('after a look that went well, the next one is after the interval, or only when it is asked for', () => {
  assert.deepEqual(nextLook(state(), { isWell: true }), { time: null, attempts: 0, isAnswered: true })
  const polled = nextLook(state({ pollMinutes: 10, attempts: 3 }), { isWell: true })
  assert.deepEqual(polled, { time: now + 10 * MINUTE_MS, attempts: 0, isAnswered: true })
})

test('looks are spread around their interval', () => {
  assert.equal(pollTime(state({ pollMinutes: 10, spread: 0 })), now + 9 * MINUTE_MS)
  assert.equal(pollTime(state({ pollMinutes: 10, spread: 1 })), now + 11 * MINUTE_MS)
})

test('who asks while a look is under way gets another one at once', () => {
  for (const outcome of [{ isWell: true }, { isWell: false, isPassing: true }] as const)
    assert.equal(nextLook(state({ isAskedAgain: true }), outcome).time, now)
})

test('a fault that may pass is tried again, later each time, and given up in the end', () => {
  const times: number[] = []
  let at = state()
  for (;;) {
    const next = nextLook(at, { isWell: false, isPassing: true })
    if (next.isAnswered) break
    times.push(((next.time ?? 0) - now) / 1000)
    at = state({ attempts: next.attempts })
  }
  assert.deepEqual(times, [30, 60, 120, 240, 480, 960, 1920, 3600])
})

test('a fault that stays is not tried again before the next poll, and that comes later each time', () => {
  const failed = { isWell: false, isPassing: false } as const
  assert.deepEqual(nextLook(state(), failed), { time: null, attempts: 1, isAnswered: true })
  assert.equal(nextLook(state({ pollMinutes: 1 }), failed).time, now + MINUTE_MS)
  assert.equal(nextLook(state({ pollMinutes: 1, attempts: 50 }), failed).time, now + 60 * MINUTE_MS)
})

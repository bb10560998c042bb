import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_TRIES, pauseAfter } from './backoff.ts'

const HOUR_MS = 60 * 60_000

const pauses = (random: number) => Array.from({ length: MAX_TRIES - 1 }, (_, at) => pauseAfter(at + 1, random) ?? 0)

test('there are eight tries over about a day, each pause longer than the one before', () => {
  assert.equal(MAX_TRIES, 8)
  assert.equal(pauseAfter(MAX_TRIES, 0.5), undefined)
  for (const random of [0, 0.5, 1]) {
    const all = pauses(random)
    assert.deepEqual(
      all,
      all.toSorted((a, b) => a - b),
    )
    const total = all.reduce((sum, pause) => sum + pause, 0)
    assert.ok(total > 18 * HOUR_MS && total < 30 * HOUR_MS, String(total))
  }
  assert.ok(pauses(0).every((pause, at) => pause < (pauses(1)[at] ?? 0)))
})

test('a receiver may ask for a longer pause, within bounds, and not for a shorter one', () => {
  assert.equal(pauseAfter(1, 0.5, 60_000), 60_000)
  assert.equal(pauseAfter(1, 0.5, 0), pauseAfter(1, 0.5))
  assert.equal(pauseAfter(1, 0.5, -1), pauseAfter(1, 0.5))
  assert.equal(pauseAfter(1, 0.5, Number.MAX_SAFE_INTEGER), 12 * HOUR_MS)
})

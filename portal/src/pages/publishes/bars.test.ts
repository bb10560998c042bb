import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, scaleOf } from './bars.ts'

const build = { kind: 'BUILD', waitingMs: 1000, buildingMs: 6000, switchingMs: 1000, untilVisitMs: 90_000 } as const

test('the parts of a bar are drawn to scale, and a visit that came late is cut', () => {
  const scale = scaleOf([build, { kind: 'PURGE', waitingMs: 0, switchingMs: 50_000 }], 'BUILD')
  assert.equal(scale, 16_000)
  assert.deepEqual(partsOf(build, scale), [
    { part: 'WAITING', words: 'Waiting 1.0 s', share: 1 / 16, isCut: false },
    { part: 'BUILDING', words: 'Building 6.0 s', share: 6 / 16, isCut: false },
    { part: 'SWITCHING', words: 'Switching 1.0 s', share: 1 / 16, isCut: false },
    { part: 'VISIT', words: 'Until the first visit 1 min 30 s', share: 0.5, isCut: true },
  ])
})

test('a purge has no build, and a publish that failed ends where it did', () => {
  const purge = { kind: 'PURGE', waitingMs: 0, switchingMs: 20 } as const
  assert.deepEqual(
    partsOf(purge, 20).map(({ words }) => words),
    ['Waiting 0.0 s', 'Purging 0.0 s'],
  )
  assert.deepEqual(
    partsOf({ kind: 'BUILD', waitingMs: 500 }, 1000).map(({ part, share }) => [part, share]),
    [['WAITING', 0.5]],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endedOn, endedWarning, LINES } from './node-lines.ts'

const NOW = Date.UTC(2026, 10, 16)

for (const [version, end] of [
  ['0.12.18', '2016-12-31'],
  ['14.21.3', '2023-04-30'],
  ['16.20.2', '2023-09-11'],
  ['18.20.8', '2025-04-30'],
  ['20.20.2', '2026-04-30'],
  ['22.23.3', undefined],
  ['24.21.0', undefined],
  ['26.10.0', undefined],
  ['99.0.0', undefined],
] as const) {
  test(`in November 2026 Node ${version} ${end ? `gets no fixes since ${end}` : 'gets security fixes'}`, () => {
    assert.equal(endedOn(version, NOW), end)
  })
}

test('a line ends on its day, and not before', () => {
  assert.equal(endedOn('22.23.3', Date.UTC(2027, 3, 29)), undefined)
  assert.equal(endedOn('22.23.3', Date.UTC(2027, 3, 30)), '2027-04-30')
})

test('a warning says since when, and what to change to what', () => {
  assert.equal(
    endedWarning('18.20.8', '.nvmrc', NOW),
    'Node 18.20.8 no longer gets security fixes (since 2025-04-30). Change .nvmrc to 24 as soon as the app runs on it.',
  )
  assert.match(endedWarning('18.20.8', undefined, NOW) ?? '', /Set engines\.node in package\.json to 24 /)
  assert.equal(endedWarning('24.21.0', '.nvmrc', NOW), undefined)
})

test('lines that get fixes come before those that have ended, and those with long-term support before the others', () => {
  assert.deepEqual(LINES.slice(0, 7), [24, 22, 20, 26, 18, 16, 14])
  assert.deepEqual(LINES.slice(-3), [9, 7, 5])
})

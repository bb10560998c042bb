import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Traffic } from '../../api/types.ts'
import { columnsOf, FIGURES, type Figure, reading } from './figures.ts'

const NONE = { requests: 0, hits: 0, bytes: 0, errors: 0, p50Ms: 0, p95Ms: 0 }
const SOME = { requests: 8, hits: 6, bytes: 2048, errors: 1, p50Ms: 1.2, p95Ms: 340 }

const figure = (id: string) => FIGURES.find((each) => each.id === id) as Figure

const traffic: Traffic = {
  name: 'accounts/a/apps/b/environments/c/traffic',
  stepSeconds: 60,
  points: [
    { time: '2026-11-12T14:00:00Z', ...SOME },
    { time: '2026-11-12T14:01:00Z', ...NONE },
  ],
  totals: SOME,
}

test('each figure tells its value in words', () => {
  assert.deepEqual(
    FIGURES.map((each) => reading(each, SOME)),
    ['8', '75.0%', '2.0 KB', '1', 'p50 1.2 ms, p95 340 ms'],
  )
})

test('without visits nothing is counted, and nothing is said of ratios and times', () => {
  assert.deepEqual(
    FIGURES.map((each) => reading(each, NONE)),
    ['0', '–', '0 B', '0', 'p50 –, p95 –'],
  )
})

test('a step without visits is a gap in a line, and not a fall to zero', () => {
  const begin = Date.UTC(2026, 10, 12, 14) / 1000
  assert.deepEqual(columnsOf(figure('hits'), traffic), [
    [begin + 30, begin + 90],
    [75, null],
  ])
  assert.deepEqual(columnsOf(figure('requests'), traffic)[1], [8, 0])
  assert.equal(columnsOf(figure('latency'), traffic).length, 3)
})

test('lines of one chart differ by more than their colour', () => {
  for (const { lines } of FIGURES)
    assert.equal(new Set(lines.map(({ isDashed = false }) => isDashed)).size, lines.length)
})

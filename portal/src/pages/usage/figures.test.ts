import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Traffic } from '../../api/types.ts'
import { columnsOf, drawnLines, FIGURES, type Figure, lonely, reading } from './figures.ts'

const NO_STATUS = { status2xx: 0, status3xx: 0, status4xx: 0 }
const NONE = { requests: 0, hits: 0, bytes: 0, errors: 0, ...NO_STATUS, p50Ms: 0, p95Ms: 0 }
const CLASSES = { status2xx: 4, status3xx: 0, status4xx: 2 }
const SOME = { requests: 8, hits: 6, bytes: 2048, errors: 1, ...CLASSES, p50Ms: 1.2, p95Ms: 340 }

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

test('each figure gives its value in words', () => {
  assert.deepEqual(
    FIGURES.map((each) => reading(each, SOME)),
    ['8 (2xx 4, 4xx 2, 5xx 1, other 1)', '75.0%', '2.0 KB', 'p50 1.2 ms, p95 340 ms'],
  )
})

test('without visits nothing is counted, and ratios and times have no value', () => {
  assert.deepEqual(
    FIGURES.map((each) => reading(each, NONE)),
    ['0', '–', '0 B', 'p50 –, p95 –'],
  )
})

test('a step without visits is a gap in a line, and not a fall to zero', () => {
  const begin = Date.UTC(2026, 10, 12, 14) / 1000
  assert.deepEqual(columnsOf(figure('hits'), traffic), [
    [begin + 30, begin + 90],
    [75, null],
  ])
  assert.equal(columnsOf(figure('latency'), traffic).length, 3)
})

test('parts of a whole stand on each other, and are drawn from the top down', () => {
  const [, ...columns] = columnsOf(figure('requests'), traffic)
  assert.deepEqual(
    columns.map(([first]) => first),
    [8, 7, 6, 4, 4],
  )
  assert.deepEqual(
    drawnLines(figure('requests')).map(({ label }) => label),
    ['other', '5xx', '4xx', '3xx', '2xx'],
  )
})

test('a value without a neighbour is a point, since no line leads to it', () => {
  assert.deepEqual(lonely([5]), [0])
  assert.deepEqual(lonely([null, 5, null, 0, null, 1, 2, null, 3]), [1, 3, 8])
  assert.deepEqual(lonely([null, 1, 2, null]), [])
})

test('lines of one chart differ by more than their colour', () => {
  for (const { lines } of FIGURES.filter(({ kind }) => kind === 'lines'))
    assert.equal(new Set(lines.map(({ isDashed = false }) => isDashed)).size, lines.length)
})

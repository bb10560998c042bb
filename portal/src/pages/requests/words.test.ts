import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestRecord } from '../../api/types.ts'
import { withNewer, withOlder } from './rows.ts'
import { queryOf, statusIn, toneOf, tookInWords } from './words.ts'

const rows = (...numbers: number[]) => numbers.map((number) => ({ number }) as RequestRecord)
const numbersOf = (of: readonly RequestRecord[]) => of.map(({ number }) => number)

test('newer requests come first, once each, and the oldest leave', () => {
  assert.deepEqual(numbersOf(withNewer(rows(3, 2, 1), rows(3, 4, 5))), [5, 4, 3, 2, 1])
  assert.deepEqual(numbersOf(withNewer(rows(3, 2, 1), rows(4, 5), 3)), [5, 4, 3])
  const before = rows(1)
  assert.equal(withNewer(before, rows(1)), before)
})

test('older requests come last, once each, as long as they fit', () => {
  assert.deepEqual(numbersOf(withOlder(rows(5, 4), rows(4, 3, 2))), [5, 4, 3, 2])
  assert.deepEqual(numbersOf(withOlder(rows(5, 4), rows(3, 2), 3)), [5, 4, 3])
})

test('an error is bad, a missing page a warning, and a visitor who left is neither', () => {
  const tone = (status: number, outcome: RequestRecord['outcome'] = 'complete') => toneOf({ status, outcome })
  assert.deepEqual([tone(500), tone(404), tone(200), tone(304)], ['bad', 'warn', 'good', 'good'])
  assert.deepEqual([tone(0, 'aborted'), tone(200, 'aborted'), tone(200, 'broken')], ['idle', 'idle', 'bad'])
})

test('times and queries are short', () => {
  assert.deepEqual([0, 0.4, 1.2, 850, 12_400].map(tookInWords), ['< 1 ms', '< 1 ms', '1 ms', '850 ms', '12 s'])
  assert.equal(queryOf({ parameters: ['page', 'sort'] }), '?page=…&sort=…')
  assert.equal(queryOf({ parameters: [] }), '')
  assert.deepEqual([statusIn('5xx'), statusIn('6xx'), statusIn(null)], ['5xx', undefined, undefined])
})

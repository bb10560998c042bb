import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rangeOf } from '../ranges.ts'
import { milliseconds, percent, shareOf, shortNumber } from './share.ts'

test('only all is 100%, and only nothing is 0%', () => {
  assert.deepEqual([0, 0.04, 0.1, 33.333, 99.96, 99.999, 100].map(percent), [
    '0%',
    '<0.1%',
    '0.1%',
    '33.3%',
    '99.9%',
    '99.9%',
    '100%',
  ])
})

test('a percentage that is even stays so, whatever binary fractions make of it', () => {
  assert.equal(percent((28.999999999999996 / 100) * 100), '29.0%')
  assert.equal(percent(57.99999999999999), '58.0%')
})

test('a share never leaves the bar', () => {
  assert.deepEqual([shareOf(1, 4), shareOf(5, 4), shareOf(1, 0), shareOf(-1, 4)], [0.25, 1, 0, 0])
})

test('a time to answer has the precision that is worth reading', () => {
  assert.deepEqual([0, 0.44, 9.94, 9.96, 38.4, 999.6, 1_240, 12_400].map(milliseconds), [
    '0 ms',
    '0.4 ms',
    '9.9 ms',
    '10 ms',
    '38 ms',
    '1.0 s',
    '1.2 s',
    '12 s',
  ])
})

test('numbers at the side of a chart are short', () => {
  assert.deepEqual([0, 950, 1_200, 3_000_000].map(shortNumber), ['0', '950', '1.2K', '3M'])
})

test('an address without a range, or with one that is none, shows the last day', () => {
  assert.equal(rangeOf('7d').id, '7d')
  assert.equal(rangeOf(null).id, '24h')
  assert.equal(rangeOf('<script>').id, '24h')
})

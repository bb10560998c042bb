import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, bytes, counted, duration } from './format.ts'

const NOW = Date.UTC(2026, 10, 15, 12)

test('a time is shown as how long ago it was', () => {
  assert.equal(ago(NOW - 5_000, NOW), 'just now')
  assert.equal(ago(NOW + 3_000, NOW), 'just now', 'the clock of the service may be a little ahead')
  assert.equal(ago(NOW - 61_000, NOW), '1 minute ago')
  assert.equal(ago(NOW - 3 * 3_600_000, NOW), '3 hours ago')
  assert.equal(ago(NOW - 40 * 86_400_000, NOW), '1 month ago')
  assert.equal(ago(NOW + 120_000, NOW), 'in 2 minutes')
})

test('a duration has the precision that is worth reading', () => {
  assert.deepEqual([0, 0.04, 9.94, 9.96, 59.6, 185, 7_800].map(duration), [
    '0.0 s',
    '0.0 s',
    '9.9 s',
    '10 s',
    '1 min',
    '3 min 5 s',
    '2 h 10 min',
  ])
})

test('a size never shows four digits before its unit', () => {
  assert.deepEqual([0, 1023, 1024, 1_048_575, 1_500_000, 5e12].map(bytes), [
    '0 B',
    '1023 B',
    '1.0 KB',
    '1.0 MB',
    '1.4 MB',
    '4.5 TB',
  ])
})

test('one thing is counted without an s', () => {
  assert.deepEqual(
    [counted(1, 'file'), counted(0, 'file'), counted(1200, 'file')],
    ['1 file', '0 files', '1,200 files'],
  )
})

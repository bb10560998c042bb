import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as portal from '../../../portal/src/components/facts/format.ts'
import { bytesInWords, durationInWords, durationsInWords } from './figures.ts'

const SIZES = [0, 1, 812, 999, 999.6, 1000, 1024, 65_536, 99_949, 99_950, 999_499, 999_500, 1_400_000, 5e12, 7e15]
const SECONDS = [0, 0.04, 0.44, 9.94, 9.96, 59.4, 59.6, 60, 125, 185, 3599.6, 3600, 7_800, 86_400]

test('a size has one unit style, powers of 1,024, so that limits are round', () => {
  assert.deepEqual(
    [0, 812, 1023, 1024, 65_536, 102_348, 102_400, 1_048_000, 1_400_000, 334 * 1024 ** 2, 20 * 1024 ** 3].map(
      bytesInWords,
    ),
    ['0 B', '812 B', '1023 B', '1.0 KB', '64.0 KB', '99.9 KB', '100 KB', '1023 KB', '1.3 MB', '334 MB', '20.0 GB'],
  )
})

test('a duration has the precision that is worth reading', () => {
  assert.deepEqual([0, 0.44, 9.96, 59.4, 59.6, 125, 3600, 7_800].map(durationInWords), [
    '0.0 s',
    '0.4 s',
    '10 s',
    '59 s',
    '1 min',
    '2 min 5 s',
    '1 h',
    '2 h 10 min',
  ])
})

test('durations that are shown add up to the total that is shown', () => {
  assert.deepEqual(durationsInWords([0.24, 2.34, 0.04, 0.04], 2.66), {
    parts: ['0.2 s', '2.3 s', '0.1 s', '0.1 s'],
    total: '2.7 s',
  })
  assert.deepEqual(durationsInWords([4.2, 61.2, 0.04], 65.44), {
    parts: ['4 s', '1 min 1 s', '0 s'],
    total: '1 min 5 s',
  })
  const random = (at: number) => ((Math.sin(at) * 10_000) % 1) ** 2
  for (let round = 0; round < 500; round++) {
    const parts = Array.from({ length: 1 + (round % 7) }, (_, at) => random(round * 7 + at) * 10 ** (round % 4))
    const total = parts.reduce((sum, each) => sum + each, 0)
    const shown = durationsInWords(parts, total)
    const sum = shown.parts.reduce((whole, words) => whole + secondsOf(words), 0)
    if (total < 3600) assert.equal(sum.toFixed(1), secondsOf(shown.total).toFixed(1), JSON.stringify({ parts, shown }))
  }
  assert.deepEqual(durationsInWords([], 0), { parts: [], total: '0.0 s' })
})

/** `1 min 5 s` as 65. */
const secondsOf = (words: string): number =>
  [...words.matchAll(/([\d.]+) (s|min|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * ({ s: 1, min: 60, h: 3600 }[unit as 's'] ?? 0),
    0,
  )

test('the portal writes sizes and durations as the service does', () => {
  for (const bytes of SIZES) assert.equal(portal.bytes(bytes), bytesInWords(bytes))
  for (const seconds of SECONDS) assert.equal(portal.duration(seconds), durationInWords(seconds))
  for (const parts of [
    [0.24, 2.34, 0.04],
    [4.2, 61.2, 0.04],
    [30, 4000],
  ]) {
    const total = parts.reduce((sum, each) => sum + each, 0)
    assert.deepEqual(portal.durations(parts, total), durationsInWords(parts, total))
  }
})

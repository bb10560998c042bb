import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeHttpDate } from '../fields/http-date.ts'
import { type Lifetime, readLifetime } from './freshness.ts'

const NOW = Date.UTC(2026, 6, 1, 12, 0, 0, 300)
const date = (seconds: number): string => writeHttpDate(NOW + seconds * 1000)
const read = (...headers: string[]): Lifetime => readLifetime({ headers, requestMs: NOW, responseMs: NOW })

const FRESH: [what: string, headers: string[], seconds: number, from: string][] = [
  ['nothing', [], 0, 'none'],
  ['max-age', ['Cache-Control', 'max-age=60'], 60, 'cache-control: max-age=60'],
  ['s-maxage before max-age', ['Cache-Control', 'max-age=1, s-maxage=60'], 60, 'cache-control: s-maxage=60'],
  [
    'a short s-maxage, too',
    ['Cache-Control', 's-maxage=1', 'cache-control', 'max-age=9'],
    1,
    'cache-control: s-maxage=1',
  ],
  ['max-age before Expires', ['Cache-Control', 'max-age=60', 'Expires', date(-7)], 60, 'cache-control: max-age=60'],
  ['max-age=0 before Expires', ['Cache-Control', 'max-age=0', 'Expires', date(60)], 0, 'cache-control: max-age=0'],
  ['the largest lifetime', ['Cache-Control', 'max-age=99999999999'], 2 ** 31, 'cache-control: max-age=99999999999'],
  ['one that cannot be read', ['Cache-Control', 'max-age=soon'], 0, 'cache-control: max-age=soon'],
  ['one without a value', ['Cache-Control', 's-maxage, max-age=60'], 0, 'cache-control: s-maxage'],
  ['Expires from Date on', ['Expires', date(60), 'Date', date(-10)], 70, 'expires'],
  ['Expires in the past', ['Expires', date(-60), 'Date', date(0)], 0, 'expires'],
  ['Expires before a Date in the future', ['Expires', date(300), 'Date', date(400)], 0, 'expires'],
  ['Expires that is no date', ['Expires', '0', 'Date', date(0)], 0, 'expires'],
  ['Expires beside no date, from its arrival on', ['Expires', date(60), 'Date', 'foo'], 59.7, 'expires'],
  ['the first of two Expires', ['Expires', date(60), 'Expires', date(99), 'Date', date(0)], 60, 'expires'],
  ['no-cache', ['Cache-Control', 'max-age=60, No-Cache'], 0, 'cache-control: no-cache'],
  ['no-cache for some fields', ['Cache-Control', 'max-age=60, no-cache="a"'], 60, 'cache-control: max-age=60'],
  [
    'CDN-Cache-Control before Cache-Control',
    ['Cache-Control', 's-maxage=1', 'CDN-Cache-Control', 'max-age=60'],
    60,
    'cdn-cache-control: max-age=60',
  ],
  ['CDN-Cache-Control in place of Expires', ['Expires', date(60), 'CDN-Cache-Control', 'none'], 0, 'none'],
  [
    'CDN-Cache-Control that is spoiled',
    ['Expires', date(60), 'Date', date(0), 'CDN-Cache-Control', '&'],
    60,
    'expires',
  ],
]

for (const [what, headers, seconds, from] of FRESH) {
  test(`a lifetime comes from ${what}`, () => {
    const lifetime = read(...headers)
    assert.deepEqual([lifetime.freshMs, lifetime.from], [seconds * 1000, from])
  })
}

const AGES: [what: string, headers: string[], tookMs: number, ageMs: number][] = [
  ['it was made for us just now', [], 0, 0],
  ['making it took a while', [], 2500, 2500],
  ['it says how old it is', ['Age', '30'], 500, 30_500],
  ['its date is old', ['Date', date(-7200)], 0, 7200_300 - 999],
  ['its date is of this second', ['Date', date(0)], 0, 0],
  ['its date is of the second before', ['Date', date(-1)], 0, 301],
  ['its date is in the future', ['Date', date(90)], 0, 0],
  ['its date is no date', ['Date', 'foo'], 0, 0],
  ['the older one of date and age counts', ['Date', date(-10), 'Age', '25'], 0, 25_000],
  ['the older one counts, the other way round', ['Date', date(-100), 'Age', '25'], 0, 99_301],
  ['of two ages the first counts', ['Age', '0', 'Age', '7200'], 0, 0],
  ['of a list of ages the first counts', ['Age', '7200,0'], 0, 7200_000],
  ['an age below zero is none', ['Age', '-7200'], 0, 0],
  ['an age with fractions is none', ['Age', '7200.0'], 0, 0],
  ['an age that is no number is none', ['Age', 'abc'], 0, 0],
  ['an age with a parameter is none', ['Age', '7200;foo=1'], 0, 0],
  ['an age beyond all bounds is the largest', ['Age', '99999999999'], 0, 2 ** 31 * 1000],
  ['a clock that was set back meanwhile', [], -5000, 0],
]

for (const [what, headers, tookMs, ageMs] of AGES) {
  test(`how old a response is when it comes: ${what}`, () => {
    const { bornMs } = readLifetime({ headers, requestMs: NOW - tookMs, responseMs: NOW })
    assert.equal(NOW - bornMs, ageMs)
  })
}

type Stale = Pick<Lifetime, 'whileRevalidatingMs' | 'ifErrorMs' | 'mayBeStale' | 'mustValidate'>
const staleness = (while_: number, ifError: number, mayBeStale: boolean, mustValidate = false): Stale => ({
  whileRevalidatingMs: while_ * 1000,
  ifErrorMs: ifError * 1000,
  mayBeStale,
  mustValidate,
})
const WINDOWS = 'stale-while-revalidate=30, stale-if-error=60'

const STALE: [what: string, cacheControl: string, Stale][] = [
  ['it may be stale, but not for long without a word', 'max-age=1', staleness(0, 0, true)],
  ['both windows are read', `max-age=1, ${WINDOWS}`, staleness(30, 60, true)],
  ['s-maxage forbids it', 's-maxage=1', staleness(0, 0, false)],
  ['s-maxage beside windows forbids no more than them', `s-maxage=1, ${WINDOWS}`, staleness(30, 60, false)],
  ['must-revalidate forbids it, windows or not', `max-age=1, must-revalidate, ${WINDOWS}`, staleness(0, 0, false)],
  ['proxy-revalidate forbids it, windows or not', `${WINDOWS}, max-age=1, proxy-revalidate`, staleness(0, 0, false)],
  ['no-cache forbids it, windows or not', `max-age=1, no-cache, ${WINDOWS}`, staleness(0, 0, false, true)],
  ['no-cache for some fields does not', `max-age=1, no-cache="a", ${WINDOWS}`, staleness(30, 60, true)],
  ['a window without a value is none', 's-maxage=1, stale-while-revalidate', staleness(0, 0, false)],
]

for (const [what, cacheControl, stale] of STALE) {
  test(`whether a response may be stale: ${what}`, () => {
    const { whileRevalidatingMs, ifErrorMs, mayBeStale, mustValidate } = read('Cache-Control', cacheControl)
    assert.deepEqual({ whileRevalidatingMs, ifErrorMs, mayBeStale, mustValidate }, stale)
  })
}

test('what Next.js gives while it makes the new one is stale at once, and keeps its windows', () => {
  const headers = ['Cache-Control', 's-maxage=60, stale-while-revalidate=300', 'X-Nextjs-Cache', 'STALE']
  const lifetime = readLifetime({ headers, requestMs: NOW - 40, responseMs: NOW })
  assert.equal(lifetime.bornMs + lifetime.freshMs, NOW)
  assert.equal(lifetime.whileRevalidatingMs, 300_000)
  assert.equal(lifetime.from, 'x-nextjs-cache: STALE')
  assert.equal(read('Cache-Control', 's-maxage=60', 'x-nextjs-cache', 'HIT').freshMs, 60_000)
  assert.equal(read('x-nextjs-cache', 'STALE').from, 'none')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toOutward } from './outward.ts'

const PROTECTED = { protection: { addresses: ['::1'] } }

const RULES: Record<string, string> = {
  'public, max-age=31536000, immutable': 'private, max-age=31536000, immutable',
  'PUBLIC,S-MaxAge=60 , max-age=0,must-revalidate': 'private, max-age=0, must-revalidate',
  's-maxage="60", stale-while-revalidate=5': 'private, stale-while-revalidate=5',
  'private="set-cookie, x-a", no-cache="x-b, public"': 'private, no-cache="x-b, public"',
  'proxy-revalidate': 'private',
  'no-store': 'no-store',
  'public, no-store': 'no-store',
  'publicly=1': 'private, publicly=1',
  'max-age="unclosed, public': 'private, max-age="unclosed, public',
  '': 'private',
}

for (const [rules, expected] of Object.entries(RULES)) {
  test(`Cache-Control: ${rules || 'nothing'} becomes ${expected}`, () => {
    assert.deepEqual(toOutward(PROTECTED, ['cache-control', rules]), ['Cache-Control', expected])
  })
}

test('a response without Cache-Control gets one, and what is meant for shared caches is removed', () => {
  const headers = [
    ...['Vary', 'Cookie', 'CDN-Cache-Control', 'max-age=60', 'Surrogate-Control', 'max-age=60', 'ETag', '"1"'],
    ...['Cloudflare-CDN-Cache-Control', 'max-age=60', 'X-Accel-Expires', '60', 'Cache-Status', 'headland; hit'],
  ]
  const kept = ['Vary', 'Cookie', 'ETag', '"1"', 'Cache-Status', 'headland; hit', 'Cache-Control', 'private']
  assert.deepEqual(toOutward(PROTECTED, headers), kept)
})

test('several Cache-Control headers are one', () => {
  const headers = ['Cache-Control', 'public', 'Cache-Control', 'max-age=60, s-maxage=600']
  assert.deepEqual(toOutward(PROTECTED, headers), ['Cache-Control', 'private, max-age=60'])
})

const ROBOTS: Record<string, boolean> = {
  noindex: true,
  'nofollow, NoIndex': true,
  none: true,
  all: false,
  'nofollow, noimageindex': false,
  'googlebot: noindex': false,
  'unavailable_after: 25 Jun 2030 15:00:00 PST': false,
}

for (const [value, isEnough] of Object.entries(ROBOTS)) {
  test(`X-Robots-Tag: ${value} of an app ${isEnough ? 'is enough' : 'gets another one beside it'}`, () => {
    const sent = toOutward({ isHidden: true }, ['X-Robots-Tag', value])
    assert.deepEqual(sent, isEnough ? ['X-Robots-Tag', value] : ['X-Robots-Tag', value, 'X-Robots-Tag', 'noindex'])
  })
}

test('a hidden environment without protection stays cacheable', () => {
  const sent = toOutward({ isHidden: true }, ['cache-control', 'public, s-maxage=60'])
  assert.deepEqual(sent, ['cache-control', 'public, s-maxage=60', 'X-Robots-Tag', 'noindex'])
})

test('the headers that are given stay as they are', () => {
  const headers = ['cache-control', 'public']
  toOutward({ isHidden: true, ...PROTECTED }, headers)
  assert.deepEqual(headers, ['cache-control', 'public'])
})

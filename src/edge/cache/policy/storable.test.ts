import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideStorage, type Exchange, type Storable } from './storable.ts'

const NOW = Date.UTC(2026, 6, 1, 12, 0, 0, 300)
const DATE = 'Wed, 01 Jul 2026 12:00:00 GMT'
const PLAIN: Exchange = {
  method: 'GET',
  requestHeaders: {},
  status: 200,
  headers: ['Cache-Control', 'max-age=60'],
  requestMs: NOW - 20,
  responseMs: NOW,
}
const whyNot = (change: Partial<Exchange>): string => {
  const decision = decideStorage({ ...PLAIN, ...change })
  return decision.kind === 'pass' ? decision.why : 'stored'
}
const store = (...headers: string[]): Storable => {
  const decision = decideStorage({ ...PLAIN, headers })
  assert.ok(decision.kind === 'store', JSON.stringify(decision))
  return decision
}
const named = (cacheControl: string, ...more: string[]): Partial<Exchange> => ({
  headers: ['Cache-Control', cacheControl, ...more],
})
const asked = (requestHeaders: Exchange['requestHeaders'], cacheControl = 'max-age=60'): Partial<Exchange> => ({
  requestHeaders,
  ...named(cacheControl),
})
const ETAG = ['ETag', '"a"']

const DECISIONS: [what: string, change: Partial<Exchange>, outcome: string][] = [
  ['with a lifetime', {}, 'stored'],
  ['without one', { headers: [] }, 'no-lifetime'],
  ['without one, though it is public and has a date', named('public', 'Last-Modified', DATE, ...ETAG), 'no-lifetime'],
  ['to HEAD', { method: 'HEAD' }, 'method'],
  ['to POST', { method: 'POST' }, 'method'],
  ['to a GET with a body', asked({ 'content-length': '3' }), 'request-body'],
  ['to a GET with a body of unknown length', asked({ 'transfer-encoding': 'chunked' }), 'request-body'],
  ['to a GET with a body of no length', asked({ 'content-length': '0' }), 'stored'],
  ['to a request that says no-store', asked({ 'cache-control': 'no-store' }), 'request-no-store'],
  ['to a request that says no-cache', asked({ 'cache-control': 'no-cache' }), 'stored'],
  ['to a request with cookies', asked({ cookie: 'a=b' }), 'stored'],

  ['that is private', named('private, max-age=60'), 'private'],
  ['that is private in some fields', named('private="a", max-age=60'), 'stored'],
  ['that says no-store', named('max-age=60, No-Store'), 'no-store'],
  ['that says it with a semicolon', named('no-store; max-age=60'), 'no-store'],
  ['that says it to surrogates', named('max-age=60', 'Surrogate-Control', 'no-store'), 'no-store'],
  ['with a lifetime for surrogates', named('max-age=60', 'Surrogate-Control', 'max-age=1'), 'stored'],
  ['with a cookie', named('public, s-maxage=60', 'set-cookie', 'a=b'), 'set-cookie'],
  [
    'with a cookie that it forbids to store',
    named('max-age=60, no-cache="set-cookie"', 'Set-Cookie', 'a'),
    'set-cookie',
  ],
  ['that varies by everything', named('max-age=60', 'Vary', 'Foo, *'), 'vary-all'],
  ['that varies by everything in another line', named('max-age=60', 'Vary', '', 'Vary', '*'), 'vary-all'],

  ['to one by name', asked({ authorization: 'Basic x' }), 'authorization'],
  ['to one by name that is public', asked({ authorization: 'x' }, 'max-age=60, public'), 'stored'],
  ['to one by name with s-maxage', asked({ authorization: 'x' }, 's-maxage=60'), 'stored'],
  ['to one by name with must-revalidate', asked({ authorization: 'x' }, 'max-age=60, must-revalidate'), 'stored'],
  [
    'to one by name with proxy-revalidate',
    asked({ authorization: 'x' }, 'max-age=60, proxy-revalidate'),
    'authorization',
  ],

  ['CDN: no-store', named('max-age=60', 'CDN-Cache-Control', 'no-store'), 'no-store'],
  ['CDN: private', named('max-age=60', 'CDN-Cache-Control', 'private'), 'private'],
  ['CDN: no-cache', named('max-age=60', 'CDN-Cache-Control', 'no-cache'), 'no-lifetime'],
  ['CDN: a lifetime beside no-store', named('no-store', 'CDN-Cache-Control', 'max-age=60'), 'stored'],
  ['CDN: a lifetime beside private', named('private', 'CDN-Cache-Control', 'max-age=60'), 'stored'],
  ['CDN: one that is spoiled beside no-store', named('no-store', 'CDN-Cache-Control', 'max-age=60, &'), 'no-store'],
  ['CDN: seconds in quotes beside no-store', named('no-store', 'CDN-Cache-Control', 'max-age="60"'), 'no-store'],
  ['CDN: unknown words', named('max-age=60', 'CDN-Cache-Control', 'none'), 'no-lifetime'],

  ['that is stale at once', named('max-age=0'), 'no-lifetime'],
  ['that is stale at once, with a tag', named('max-age=0', ...ETAG), 'stored'],
  ['that is stale at once, with a date', named('max-age=0', 'Last-Modified', DATE), 'stored'],
  ['that is stale at once, but with a window', named('max-age=0, stale-while-revalidate=60'), 'stored'],
  ['that is stale at once, but with the other window', named('max-age=0, stale-if-error=60'), 'stored'],
  ['that was too old on its way', named('max-age=60', 'Age', '60'), 'no-lifetime'],
  ['that was not too old on its way', named('max-age=60', 'Age', '59'), 'stored'],
  ['with no-cache', named('max-age=60, no-cache'), 'no-lifetime'],
  ['with no-cache and a tag', named('no-cache', ...ETAG), 'stored'],
  ['that is an error and stale at once, with a tag', { status: 404, ...named('max-age=0', ...ETAG) }, 'no-lifetime'],

  ['with more tags than can be kept', named('max-age=60', 'Cache-Tag', many(1001)), 'too-many-tags'],
  ['with as many tags as can be kept', named('max-age=60', 'Cache-Tag', many(1000)), 'stored'],
]

function many(count: number): string {
  return Array.from({ length: count }, (_, number) => `t${number}`).join(',')
}

for (const [what, change, outcome] of DECISIONS) {
  test(`a response ${what}: ${outcome}`, () => assert.equal(whyNot(change), outcome))
}

const STATUSES: [outcome: string, statuses: number[]][] = [
  ['stored', [200, 203, 204, 299, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 451, 499]],
  ['stored', [500, 501, 502, 503, 504, 599]],
  ['partial', [206]],
  ['status', [0, 100, 101, 103, 304, 401, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511, 600, 999]],
]

for (const [outcome, statuses] of STATUSES) {
  for (const status of statuses) {
    test(`a ${status} with a lifetime: ${outcome}`, () => assert.equal(whyNot({ status }), outcome))
    test(`a ${status} without one is not stored`, () => assert.notEqual(whyNot({ status, headers: [] }), 'stored'))
  }
}

test('must-understand keeps out what is not understood, and lets in what is, though it says no-store', () => {
  const understood = named('max-age=60, must-understand, no-store')
  assert.equal(whyNot({ status: 599, ...understood }), 'status')
  assert.equal(whyNot({ status: 599, ...named('max-age=60, must-understand') }), 'status')
  assert.equal(whyNot({ status: 200, ...understood }), 'stored')
})

test('what is stored has no fields about the connection, about its age, about its tags, nor for one client', () => {
  const received = [
    ...['Cache-Control', 'max-age=60, no-cache="X-A", private="x-b, Connection"', 'Connection', 'X-Hop, close'],
    ...['X-Hop', '1', 'Keep-Alive', 'a', 'TE', 'a', 'Trailer', 'a', 'Transfer-Encoding', 'chunked', 'Upgrade', 'a'],
    ...['Proxy-Connection', 'a', 'Proxy-Authenticate', 'a', 'x-a', '1', 'X-B', '2', 'Age', '3', 'Date', DATE],
    ...['Cache-Tag', 't1', 'x-next-cache-tags', 't2', 'Surrogate-Key', 't3'],
    ...['Content-Type', 'text/plain', 'X-C', '3', 'x-c', '4'],
  ]
  const { headers, tags } = store(...received)
  assert.deepEqual(headers, [
    ...['Cache-Control', 'max-age=60, no-cache="X-A", private="x-b, Connection"', 'Date', DATE],
    ...['Surrogate-Key', 't3', 'Content-Type', 'text/plain', 'X-C', '3', 'x-c', '4'],
  ])
  assert.deepEqual(tags, ['t1', 't3', 't2'])
})

test('CDN-Cache-Control is not stored, and its own fields for one client count in place of those of Cache-Control', () => {
  const { headers } = store(
    'CDN-Cache-Control',
    'max-age=6, private="a"',
    'Cache-Control',
    'private="b"',
    'A',
    '1',
    'B',
    '2',
  )
  assert.deepEqual(headers, ['Cache-Control', 'private="b"', 'B', '2', 'Date', DATE])
})

test('a response that does not say when it was made is stored with the time at which it came', () => {
  assert.deepEqual(store('Cache-Control', 'max-age=60').headers, ['Cache-Control', 'max-age=60', 'Date', DATE])
})

test('the headers that a response varies by are in lower case and in order, none of them twice', () => {
  assert.equal(store('Cache-Control', 'max-age=60').vary, undefined)
  assert.equal(store('Cache-Control', 'max-age=60', 'Vary', ' , ').vary, undefined)
  const { vary } = store('Cache-Control', 'max-age=60', 'Vary', 'RSC, Accept', 'vary', 'rsc,,Foo')
  assert.deepEqual(vary, ['accept', 'foo', 'rsc'])
})

test('the lifetime is that of the response', () => {
  const { lifetime } = store('Cache-Control', 's-maxage=60, stale-while-revalidate=5', 'Age', '10')
  assert.equal(lifetime.bornMs, NOW - 10_020)
  assert.equal(lifetime.freshMs, 60_000)
  assert.equal(lifetime.whileRevalidatingMs, 5000)
})

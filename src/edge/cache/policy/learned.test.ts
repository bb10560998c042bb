import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideLearned, finalTags, readContent } from './learned.ts'
import { decideStorage, type Exchange } from './storable.ts'

const NOW = Date.UTC(2026, 6, 1, 12)
const HTML = ['Content-Type', 'text/html; charset=utf-8']
const ITEM = '1;i:wp:post:12 c:wp:post'
const TAGS = ['content:i:wp:post:12', 'content:c:wp:post', 'content:c:wp']
type Case = Partial<Exchange> & { target?: string; content?: string | undefined }

function decide({ target = '/', content, ...change }: Case) {
  const asked = {
    method: 'GET',
    requestHeaders: {},
    status: 200,
    headers: HTML,
    requestMs: NOW - 20,
    responseMs: NOW,
    ...change,
  }
  return decideLearned({ ...asked, target, maxAgeSeconds: 600, content }, decideStorage(asked))
}

/** Why it is not stored; or for how many seconds it is, with its tags. */
function outcome(given: Case): unknown {
  const decision = decide(given)
  if (decision.kind === 'pass') return decision.why
  const tags = decision.pending ? ['pending', decision.pending.otherwise] : decision.tags
  return [decision.lifetime.freshMs / 1000, ...tags]
}

const sent = (cacheControl: string, ...more: string[]): Case => ({
  headers: [...HTML, 'Cache-Control', cacheControl, ...more],
  content: ITEM,
})
const known = (change: Case): Case => ({ content: ITEM, ...change })
const KEPT = [600, ...TAGS]
const ETAG = ['ETag', '"a"']

const DECISIONS: [what: string, given: Case, expected: unknown][] = [
  ['a page that says nothing of caches', known({}), KEPT],
  ['one that says no more than public', sent('public'), KEPT],
  ['one that says max-age=0', sent('public, max-age=0, must-revalidate'), KEPT],
  ['one that says max-age=0 and has a validator', sent('max-age=0', ...ETAG), KEPT],
  ['one that was made without content', { content: '1;none' }, [600, 'content:none']],
  ['one that may be made of anything', { content: '1;all' }, [600, 'content:all']],
  ['one that is made of a URL', { content: '1;u:0123456789abcdef' }, [600, 'content:u:0123456789abcdef', 'content:u']],
  ['a list of any type', { content: '1;c:wp:*' }, [600, 'content:c:wp:*', 'content:c:wp']],
  ['with tags of its own', known({ headers: [...HTML, 'Cache-Tag', 'news'] }), [...KEPT, 'news']],
  ['a missing page', known({ status: 404 }), [60, ...TAGS]],
  ['data', known({ headers: ['Content-Type', 'application/json'] }), KEPT],
  ['a feed', known({ headers: ['Content-Type', 'application/rss+xml'] }), KEPT],
  [
    'one that varies by encoding and by what is part of the key',
    known({ headers: [...HTML, 'Vary', 'Accept-Encoding, RSC, next-url'] }),
    KEPT,
  ],

  ['a page without a list', {}, 'content-unknown'],
  ['one of an app that is unsure', { content: '1;unsure app-keeps' }, 'content-app-keeps'],
  ['one of another version', { content: '2;i:wp:post:1' }, 'content-invalid'],
  ['an empty list', { content: '1;' }, 'content-invalid'],
  ['a list with a character that is not allowed', { content: '1;i:wp:post:1,2' }, 'content-invalid'],
  ['a list that came twice', { content: '1;all, 1;all' }, 'content-invalid'],
  [
    'a long list',
    { content: `1;${Array.from({ length: 201 }, (_, id) => `i:wp:post:${id}`).join(' ')}` },
    'content-invalid',
  ],
  ['a long tag', { content: `1;i:${'x'.repeat(63)}` }, 'content-invalid'],
  ['no-store', sent('private, no-cache, no-store, max-age=0, must-revalidate'), 'no-store'],
  ['private', sent('private'), 'private'],
  ['no-cache', sent('no-cache'), 'no-lifetime'],
  ['a cookie in the answer', known({ headers: [...HTML, 'Set-Cookie', 'a=b'] }), 'set-cookie'],
  ['a cookie in the request', known({ requestHeaders: { cookie: 'a=b' } }), 'cookie'],
  ['credentials in the request', known({ requestHeaders: { authorization: 'Basic a' } }), 'authorization'],
  ['credentials of another name', known({ requestHeaders: { 'x-shop-session': 'a' } }), 'authorization'],
  ['a user that a proxy names', known({ requestHeaders: { 'x-forwarded-user': 'a' } }), 'authorization'],
  ['what browsers send', known({ requestHeaders: { 'user-agent': 'a', 'sec-fetch-user': '?1' } }), KEPT],
  [
    'credentials, though it is public',
    { ...sent('public'), requestHeaders: { authorization: 'Basic a' } },
    'authorization',
  ],
  ['a request with a body', known({ requestHeaders: { 'content-length': '1' } }), 'request-body'],
  ['an answer to POST', known({ method: 'POST' }), 'method'],
  ['an error', known({ status: 500 }), 'status'],
  ['a redirect', known({ status: 302 }), 'status'],
  ['one that varies by language', known({ headers: [...HTML, 'Vary', 'Accept-Language'] }), 'vary'],
  ['one that varies by cookies', known({ headers: [...HTML, 'Vary', 'Cookie'] }), 'vary'],
  ['one that varies by everything', known({ headers: [...HTML, 'Vary', '*'] }), 'vary-all'],
  ['a draft', known({ target: '/a?preview=true' }), 'preview'],
  ['a stream of events', known({ headers: ['Content-Type', 'text/event-stream'] }), 'content-type'],
  ['a file', known({ headers: ['Content-Type', 'video/mp4'] }), 'content-type'],
  ['a lifetime for another cache', known({ headers: [...HTML, 'Surrogate-Control', 'max-age=5'] }), 'no-lifetime'],

  // What the app itself allows is kept as long as it says, and found by changes all the same.
  ['a lifetime of the app', sent('s-maxage=30'), [30, ...TAGS]],
  ['a lifetime of the app, without a list', { ...sent('s-maxage=30'), content: undefined }, [30, 'content:all']],
  ['a lifetime of the app, unsure', { ...sent('s-maxage=30'), content: '1;unsure' }, [30, 'content:all']],
  ['a file that never changes', { ...sent('max-age=30, immutable'), content: undefined }, [30, 'content:none']],
  ['what is validated for each use', { ...sent('max-age=0', ...ETAG), content: undefined }, [0, 'content:all']],

  ['a list that follows', { content: '1;pending' }, [600, 'pending', undefined]],
  ['a list that cannot follow', { content: '1;pending', headers: [...HTML, 'Content-Length', '4'] }, 'content-unknown'],
  [
    'a list that follows, with a lifetime of the app',
    { ...sent('s-maxage=30'), content: '1;pending' },
    [30, 'pending', ['content:all']],
  ],
]

for (const [what, given, expected] of DECISIONS) {
  test(`${what}: ${JSON.stringify(expected)}`, () => {
    const got = outcome(given)
    assert.deepEqual(got, expected)
  })
}

test('what is kept by its content answers no request with cookies or credentials', () => {
  const decision = decide(known({}))
  assert.deepEqual(decision.kind === 'store' && decision.vary?.slice(0, 3), [
    'authorization',
    'cookie',
    'x-access-token',
  ])
})

test('a trailer decides, and without a valid one nothing is kept that the app does not allow', () => {
  const pending = { pending: { otherwise: undefined }, tags: ['news'] }
  assert.deepEqual(finalTags(pending, '1;i:wp:post:12'), ['content:i:wp:post:12', 'news'])
  for (const trailer of [undefined, '', '1;pending', '1;unsure', 'nonsense']) {
    assert.equal(finalTags(pending, trailer), undefined)
    assert.deepEqual(finalTags({ ...pending, pending: { otherwise: ['content:all'] } }, trailer), [
      'content:all',
      'news',
    ])
  }
  assert.deepEqual(finalTags({ tags: ['a'] }, '1;all'), ['a'])
})

test('every list in the grammar of the field is read whole', () => {
  const tags = Array.from({ length: 200 }, (_, id) => `i:sanity:post.${id}~A_z-`)
  const read = readContent(`1;${tags.join(' ')}`)
  assert.deepEqual(
    read.kind === 'known' && read.tags,
    tags.map((tag) => `content:${tag}`),
  )
})

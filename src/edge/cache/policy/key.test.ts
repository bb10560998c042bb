import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Addressed, keyOf } from './key.ts'

const PLAIN: Addressed = { scheme: 'https', authority: 'example.com', target: '/a?b=c', headers: {} }
const key = (change: Partial<Addressed> = {}): string => keyOf({ ...PLAIN, ...change })
const keyWith = (headers: Addressed['headers']): string => key({ headers })

test('headers of browsers do not change the key', () => {
  const headers = {
    host: 'example.com',
    'user-agent': 'a',
    accept: 'b',
    cookie: 'c',
    range: 'bytes=0-1',
    referer: 'https://example.com/next-',
    te: 'trailers',
    'x-forwarded-for': '::1',
    'x-request-id': '1',
    'x-turbo-request-id': '2',
    'if-none-match': '"a"',
  }
  assert.equal(keyWith(headers), key())
})

test('the case of the host does not count', () => assert.equal(key({ authority: 'EXAMPLE.com' }), key()))

const OTHERS: [what: string, change: Partial<Addressed>][] = [
  ['scheme', { scheme: 'http' }],
  ['host', { authority: 'example.org' }],
  ['port, though it is the default one', { authority: 'example.com:443' }],
  ['case of the path', { target: '/A?b=c' }],
  ['query', { target: '/a?b=d' }],
  ['query that is empty', { target: '/a?' }],
  ['way to write the same path', { target: '/%61?b=c' }],
]

for (const [what, change] of OTHERS) test(`another ${what} is another key`, () => assert.notEqual(key(change), key()))

const FOR_FRAMEWORKS = [
  ...[
    'rsc',
    'next-router-state-tree',
    'next-router-prefetch',
    'next-router-segment-prefetch',
    'next-url',
    'next-action',
  ],
  ...['next-hmr-refresh', 'x-nextjs-data', 'x-middleware-prefetch', 'x-invoke-status', 'x-prerender-revalidate'],
  ...['x-nuxt-no-ssr', 'x-react-router-spa-mode', 'x-react-router-prerender-data', 'x-remix-request'],
  ...['x-sveltekit-pathname', 'x-astro-path', 'x-astro-locals', 'x-server-id', 'x-requested-with'],
  ...['x-inertia', 'x-inertia-partial-data', 'x-up-target', 'x-pjax', 'hx-request', 'hx-target', 'turbo-frame'],
  ...['x-http-method-override', 'x-original-url', 'x-rewrite-url'],
]

for (const name of FOR_FRAMEWORKS) {
  test(`${name} and its value are a part of the key`, () => {
    assert.notEqual(keyWith({ [name]: '1' }), key())
    assert.notEqual(keyWith({ [name]: '1' }), keyWith({ [name]: '2' }))
    assert.notEqual(keyWith({ [name]: '' }), key())
  })
}

test('the order of headers does not count', () => {
  assert.equal(keyWith({ rsc: '1', 'next-url': '/' }), keyWith({ 'next-url': '/', rsc: '1' }))
})

test('no two different requests have one key, whatever is written where', () => {
  const pieces = ['', '/', 'a', ':', '1', '+', '"', 'a:1', '+["rsc","1"]:', '/a', '1:a']
  const keys = new Map<string, string>()
  for (const scheme of ['http', 'https'] as const) {
    for (const authority of pieces) {
      for (const target of pieces) {
        for (const rsc of [undefined, ...pieces]) {
          const request = { scheme, authority, target, headers: rsc === undefined ? {} : { rsc } }
          const made = keyOf(request)
          const text = JSON.stringify(request)
          assert.equal(keys.get(made) ?? text, text)
          keys.set(made, text)
        }
      }
    }
  }
  assert.equal(keys.size, 2 * pieces.length * pieces.length * (pieces.length + 1))
})

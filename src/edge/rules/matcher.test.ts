import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRules, type RuleSources } from './compile.ts'
import { changeHeaders } from './headers.ts'
import { RULE_LIMITS } from './limits.ts'
import { createMatcher } from './matcher.ts'
import { readPath } from './path.ts'

function matcherOf(texts: RuleSources['texts'], basePath = '') {
  const { rules, warnings } = compileRules({ texts, basePath, allowedHosts: [] })
  assert.deepEqual(warnings, [])
  assert.ok(rules)
  // The manifest stores them as JSON.
  return createMatcher(JSON.parse(JSON.stringify(rules)))
}

function headersOf(texts: RuleSources['texts'], path: string, basePath = ''): Record<string, string | null> {
  const read = readPath(path)
  assert.ok(read)
  return Object.fromEntries(matcherOf(texts, basePath).headersFor(read) ?? [])
}

/** The example of Cloudflare's documentation. */
const DOCUMENTED = `# This is a comment
/secure/page
  X-Frame-Options: DENY
  X-Content-Type-Options: nosniff
  Referrer-Policy: no-referrer

/static/*
  Access-Control-Allow-Origin: *
  X-Robots-Tag: nosnippet

/static/private/*
  X-Robots-Tag: noindex
`

test('_headers: all rules that match add up, and equal headers are joined with a comma', () => {
  const of = (path: string) => headersOf({ _headers: DOCUMENTED }, path)
  assert.deepEqual(of('/secure/page'), {
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  assert.deepEqual(of('/static/image.jpg'), { 'access-control-allow-origin': '*', 'x-robots-tag': 'nosnippet' })
  assert.deepEqual(of('/static/private/a'), {
    'access-control-allow-origin': '*',
    'x-robots-tag': 'nosnippet, noindex',
  })
  assert.deepEqual(of('/'), {})
  const several = '/*\n cache-control: max-age=0\n cache-control: no-cache\n cache-control: no-store\n'
  assert.deepEqual(headersOf({ _headers: several }, '/x'), { 'cache-control': 'max-age=0, no-cache, no-store' })
})

test('_headers: an exclamation mark takes a header away, and placeholders are replaced, encoded', () => {
  const detached = "/*\n  Content-Security-Policy: default-src 'self';\n\n/*.jpg\n  ! Content-Security-Policy\n"
  assert.deepEqual(headersOf({ _headers: detached }, '/a.png'), { 'content-security-policy': "default-src 'self';" })
  assert.deepEqual(headersOf({ _headers: detached }, '/a.jpg'), { 'content-security-policy': null })
  const titled =
    '/movies/:title\n  x-movie-name: You are watching ":title"\n/x/*\n  Link: </y/:splat>; rel="canonical"\n'
  assert.deepEqual(headersOf({ _headers: titled }, '/movies/a%0d%0ab'), {
    'x-movie-name': 'You are watching "a%0D%0Ab"',
  })
  assert.deepEqual(headersOf({ _headers: titled }, '/x/b/c'), { link: '</y/b/c>; rel="canonical"' })
})

test('netlify.toml adds to _headers, and vercel.json replaces what earlier rules set', () => {
  const toml = '[[headers]]\nfor = "/*"\n[headers.values]\nX-A = "2"\nX-L = ["a", "b"]\n'
  const vercel = JSON.stringify({
    headers: [
      { source: '/(.*)', headers: [{ key: 'X-B', value: '1' }] },
      { source: '/v/:page', headers: [{ key: 'X-B', value: 'page :page' }] },
    ],
  })
  const all = { _headers: '/*\n X-A: 1\n', 'netlify.toml': toml, 'vercel.json': vercel }
  assert.deepEqual(headersOf(all, '/v/7'), { 'x-a': '1, 2', 'x-l': 'a, b', 'x-b': 'page 7' })
  assert.deepEqual(headersOf(all, '/'), { 'x-a': '1, 2', 'x-l': 'a, b', 'x-b': '1' })
})

test('headers of a site with a base path', () => {
  const texts = { _headers: '/*\n X-All: 1\n/assets/*\n X-A: 1\n/docs/b\n X-B: 1\n' }
  assert.deepEqual(headersOf(texts, '/docs/assets/x', '/docs'), { 'x-all': '1', 'x-a': '1' })
  assert.deepEqual(headersOf(texts, '/docs/b', '/docs'), { 'x-all': '1', 'x-b': '1' })
  assert.deepEqual(headersOf(texts, '/robots.txt', '/docs'), { 'x-all': '1' })
})

test('the headers that rules add to one response are bounded, whatever the visitor sends', () => {
  const text = `/a/*\n${Array.from({ length: 100 }, (_, n) => ` X-${n}: :splat :splat :splat :splat\n`).join('')}`
  const headers = headersOf({ _headers: text }, `/a/${'x'.repeat(8000)}`)
  const bytes = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + (value ?? '').length, 0)
  assert.ok(bytes <= RULE_LIMITS.responseHeaderBytes, `${bytes} bytes`)
})

test('changes replace headers of the edge, but its Vary stays', () => {
  const headers = ['cache-control', 'no-store', 'vary', 'Accept-Encoding', 'etag', '"1"', 'x-gone', '1']
  const changes = new Map<string, string | null>([
    ['cache-control', 'public'],
    ['vary', 'Origin'],
    ['x-gone', null],
  ])
  assert.deepEqual(changeHeaders(headers, changes), [
    ...['vary', 'Accept-Encoding', 'etag', '"1"'],
    ...['cache-control', 'public', 'vary', 'Origin'],
  ])
})

test('a destination that what the visitor sent makes too long is refused', () => {
  const matcher = matcherOf({ _redirects: `/a/* /b/${':splat/'.repeat(10)}` })
  const path = readPath(`/a/${'ü'.repeat(1000)}`)
  assert.ok(path)
  assert.deepEqual(matcher.find(path, undefined)?.action, { kind: 'refuse' })
})

test('it is known whether the answer to a path depends on its query', () => {
  const matcher = matcherOf({ _redirects: '/store id=:id /blog/:id\n/other/* a=b /x\n/plain /y' })
  const reads = (path: string) => matcher.readsQuery(readPath(path) ?? assert.fail())
  assert.deepEqual(['/store', '/store/', '/other/a', '/plain', '/'].map(reads), [true, true, true, false, false])
})

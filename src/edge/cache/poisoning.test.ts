/** Attacks: one visitor tries to decide what the others are shown. */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { cachedApp, send, statusOf } from '../../../test/support/edge/cache.ts'
import { ask, askRaw, type EdgeResponse, HOST } from '../../../test/support/edge/edge.ts'

const MINUTE = { 'cache-control': 's-maxage=60' }

/** An app that writes everything that it received into its response, and sends no Vary. */
const gullible = ({ method, url, rawHeaders }: IncomingMessage, response: ServerResponse) =>
  send(response, MINUTE, JSON.stringify({ method, url, rawHeaders }))

/** What an attacker has sent must not be shown to the next visitor. */
async function assertUntouched(t: TestContext, attack: Record<string, string>, word = 'evil') {
  const edge = await cachedApp(t, gullible)
  const attacked = await edge.get('/', attack)
  const visitor = await edge.get('/')
  assert.ok(!visitor.text.includes(word), `${JSON.stringify(attack)} is shown to others: ${visitor.text}`)
  return { edge, attacked, visitor }
}

for (const name of [
  'X-Forwarded-Host',
  'X-Forwarded-Server',
  'X-Forwarded-Proto',
  'X-Forwarded-Scheme',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-For',
  'X_Forwarded_Host',
  'Forwarded',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-Original-Host',
  'X-Host',
  'X-HTTP-Host-Override',
  'X-Real-IP',
  'X-Scheme',
  'X-URL-Scheme',
  'Front-End-Https',
  'X-HTTP-Method-Override',
  'X-HTTP-Method',
  'X-Method-Override',
  'x_http_method_override',
  'Proxy',
  'Proxy-Host',
  'x-middleware-subrequest',
  'x-middleware-rewrite',
  'x-middleware-skip',
  'x-now-route-matches',
  'x-matched-path',
  'x-invoke-path',
  'x-invoke-status',
  'x-react-router-spa-mode',
  'x-react-router-prerender-data',
  'x-astro-path',
]) {
  test(`${name} of a visitor does not reach what others are shown, nor the app`, async (t) => {
    const { attacked } = await assertUntouched(t, { [name]: 'evil' })
    assert.ok(!attacked.text.includes('evil'))
  })
}

for (const name of [
  'rsc',
  'next-router-state-tree',
  'next-router-prefetch',
  'next-router-segment-prefetch',
  'next-url',
  'next-action',
  'next-anything-new',
  'x-nextjs-data',
  'x-middleware-prefetch',
  'x-prerender-revalidate',
  'x-nuxt-no-ssr',
  'x-sveltekit-pathname',
  'x-remix-response',
  'x-inertia',
  'x-requested-with',
  'x-up-target',
  'x-pjax',
  'hx-request',
  'turbo-frame',
  'x-server-id',
]) {
  test(`what an app answers to ${name} is never shown to those who did not send it`, async (t) => {
    const { edge, attacked } = await assertUntouched(t, { [name]: 'evil' })
    assert.ok(attacked.text.includes('evil'), 'the app may know it')
    assert.ok((await edge.get('/', { [name]: 'other' })).text.includes('other'), 'each value has its own')
    assert.equal(edge.asked.length, 3)
    await edge.get('/', { [name]: 'evil' })
    assert.equal(edge.asked.length, 3, 'and it is stored')
  })
}

test('a payload for a router never answers a page, at the same time or later', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) =>
    send(response, { ...MINUTE, 'content-type': headers.rsc ? 'text/x-component' : 'text/html' }),
  )
  const all = await Promise.all([
    edge.get('/', { rsc: '1' }),
    edge.get('/'),
    edge.get('/', { rsc: '1' }),
    edge.get('/'),
  ])
  for (const [n, answer] of [...all, await edge.get('/', { rsc: '1' }), await edge.get('/')].entries()) {
    assert.equal(answer.headers['content-type'], n % 2 ? 'text/html' : 'text/x-component')
  }
})

for (const [name, vary] of [
  ['rsc', undefined],
  ['next-url', undefined],
  ['Accept-Language', 'accept-language'],
  ['cookie', 'Cookie'],
] as const) {
  test(`what an app answers without ${name}, because a Connection header took it away, is no answer to it`, async (t) => {
    const edge = await cachedApp(t, ({ headers }, response) =>
      send(response, { ...MINUTE, ...(vary && { vary }) }, `got ${headers[name.toLowerCase()] ?? 'nothing'}`),
    )
    const attacked = await edge.get('/', { [name]: 'word', connection: `close, ${name}` })
    assert.equal(attacked.text, 'got nothing')
    assert.equal(statusOf(attacked), 'fwd=bypass; detail=connection')
    assert.equal((await edge.get('/', { [name]: 'word' })).text, 'got word')
    assert.equal((await edge.get('/', { [name]: 'word', connection: `keep-alive, ${name}` })).text, 'got nothing')
    assert.equal((await edge.get('/', { [name]: 'word' })).text, 'got word')
  })
}

test('a Connection header that is about the connection alone does not keep a page from being stored', async (t) => {
  const edge = await cachedApp(t, gullible)
  for (const connection of ['close', 'TE, close', 'keep-alive, X-Absent'])
    await edge.get('/', { connection, te: 'trailers' })
  assert.equal(edge.asked.length, 1)
})

test('a host is the same in any case, and the app gets it in lower case', async (t) => {
  const edge = await cachedApp(t, gullible)
  const shouted = await ask(edge.port, { host: HOST.toUpperCase() })
  assert.ok(!shouted.text.includes(HOST.toUpperCase()))
  assert.equal((await edge.get('/')).text, shouted.text)
  assert.equal(edge.asked.length, 1)
})

test('a port, or a dot after the name, is not shown to visitors who did not send it', async (t) => {
  const edge = await cachedApp(t, gullible)
  for (const host of [`${HOST}:1337`, `${HOST}:`, `${HOST}.`, `${HOST}.:1337`]) {
    assert.ok((await ask(edge.port, { host })).text.includes(`"${host}"`), host)
  }
  const visitor = await edge.get('/')
  assert.ok(visitor.text.includes(`"${HOST}"`))
})

test('a host with user information or trailing characters is an unknown host', async (t) => {
  const edge = await cachedApp(t, gullible)
  for (const host of [
    `evil@${HOST}`,
    `${HOST}@evil`,
    `${HOST}/evil`,
    `${HOST}?evil`,
    `${HOST}#evil`,
    `${HOST}:80:evil`,
    `${HOST}:evil`,
  ]) {
    const { text } = await askRaw(edge.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    assert.match(text, /^HTTP\/1\.1 40[04] /, host)
  }
  const { text } = await askRaw(
    edge.port,
    `GET http://evil@${HOST}/ HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`,
  )
  assert.match(text, /^HTTP\/1\.1 40[04] /)
  assert.equal(edge.asked.length, 0)
})

test('a target with its own host counts, and the Host header beside it is not passed on', async (t) => {
  const edge = await cachedApp(t, gullible)
  const absolute = `GET http://${HOST}/ HTTP/1.1\r\nHost: evil.localhost\r\nConnection: close\r\n\r\n`
  const { text } = await askRaw(edge.port, absolute)
  assert.match(text, /^HTTP\/1\.1 200 /)
  assert.ok(!text.includes('evil'))
  const other = `GET https://${HOST}/ HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`
  assert.ok(!(await askRaw(edge.port, other)).text.includes('"https"'), 'nor does its scheme say how it came')
  assert.equal(edge.asked.length, 1)
})

test('paths are never rewritten: each spelling is a key of its own, and reaches the app as it was written', async (t) => {
  const edge = await cachedApp(t, ({ url }, response) => send(response, MINUTE, `[${url}]`))
  const paths = [
    '/account/..%2fstatic.css',
    '/account/%2e%2e/static.css',
    '/account/../static.css',
    '/static.css',
    '//static.css',
    '///static.css',
    '/./static.css',
    '/static.css;x=y',
    '/static.css%00',
    '/static.css%23',
    '/static.css%3f',
    '/static%2ecss',
    '/account%2fstatic.css',
    '/account/static.css',
    '/account/static.css?',
    '/account\\static.css',
    '/account/%5c..%5cstatic.css',
    '/account%0d%0aX:y',
    '/ACCOUNT/static.css',
    '//evil.localhost/static.css',
    '/?a=1&b=2',
    '/?b=2&a=1',
    '/?a=1;b=2',
    '/?a[]=1',
    '/?utm_source=x',
  ]
  for (let round = 0; round < 2; round++) {
    for (const path of paths) {
      const { text } = await askRaw(edge.port, `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
      assert.ok(text.endsWith(`[${path}]`), `${path}: ${text.slice(-60)}`)
    }
  }
  assert.equal(edge.asked.length, paths.length)
})

test('a page that is for one reader stays so, however much its address looks like a file', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) =>
    send(response, { 'cache-control': 'private, max-age=60' }, `account of ${headers.cookie}`),
  )
  for (const path of [
    '/account/x.css',
    '/account;x.css',
    '/account%0ax.css',
    '/account%3fx.css',
    '/account?x.css',
    '/account/x.js',
  ]) {
    assert.equal((await edge.get(path, { cookie: 'user=victim' })).text, 'account of user=victim')
    assert.equal((await edge.get(path, { cookie: 'user=attacker' })).text, 'account of user=attacker')
  }
})

test('a page without a lifetime is not stored for its address alone', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) => send(response, {}, `account of ${headers.cookie}`))
  for (const path of ['/account/x.css', '/_next/static/x.js', '/robots.txt']) {
    await edge.get(path, { cookie: 'user=victim' })
    assert.equal((await edge.get(path)).text, 'account of undefined')
  }
})

test('a GET with a body is passed on, and its answer is for the one who sent it', async (t) => {
  const edge = await cachedApp(t, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    send(response, MINUTE, `you sent ${body}`)
  })
  const fat = await ask(edge.port, { body: 'evil', headers: { 'content-length': '4' } })
  assert.equal(fat.text, 'you sent evil')
  const { text } = await askRaw(
    edge.port,
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n`,
  )
  assert.match(text, /you sent evil/)
  assert.equal((await edge.get('/')).text, 'you sent ')
  assert.equal((await ask(edge.port, { body: 'evil', headers: { 'content-length': '4' } })).text, 'you sent evil')
  const { text: expecting } = await askRaw(
    edge.port,
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n`,
  )
  assert.doesNotMatch(expecting, /hit/)
})

test('cookies that are set are never stored, nor sent to another visitor', async (t) => {
  const edge = await cachedApp(t, (_, response) => {
    response.writeHead(200, {
      'cache-control': 'public, max-age=60, s-maxage=60, no-cache="set-cookie"',
      'set-cookie': `n=${edge.asked.length}`,
    })
    response.end()
  })
  const all = await Promise.all(Array.from({ length: 5 }, () => edge.get('/')))
  const cookies = [...all, await edge.get('/')].map(({ headers }) => headers['set-cookie']?.[0])
  assert.equal(new Set(cookies).size, 6, cookies.join())
})

test('a response to a request with Authorization is shown to no other visitor, unless the app allows it', async (t) => {
  const edge = await cachedApp(t, ({ headers, url }, response) =>
    send(
      response,
      { 'cache-control': url === '/public' ? 'public, max-age=60' : 'max-age=60' },
      `for ${headers.authorization}`,
    ),
  )
  await edge.get('/', { authorization: 'victim' })
  assert.equal((await edge.get('/')).text, 'for undefined')
  await edge.get('/public', { authorization: 'any' })
  assert.equal((await edge.get('/public')).text, 'for any')
  const both = await Promise.all([
    edge.get('/new', { authorization: 'victim' }),
    edge.get('/new'),
    edge.get('/new', { authorization: 'other' }),
  ])
  assert.deepEqual(both.map(({ text }) => text).slice(1, 2), ['for undefined'])
  assert.equal(both[0]?.text, 'for victim')
  assert.equal(both[2]?.text, 'for other')
})

test('editors in preview mode get no stored page, and their pages are not stored', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) =>
    send(response, MINUTE, headers.cookie ? 'draft' : 'published'),
  )
  for (const cookie of [
    '__prerender_bypass=secret',
    'a=b; __next_preview_data=x; c=d',
    'a=b;__prerender_bypass=secret',
  ]) {
    const draft = await edge.get('/', { cookie })
    assert.equal(draft.text, 'draft')
    assert.equal(statusOf(draft), 'fwd=bypass; detail=preview')
    assert.equal((await edge.get('/')).text, 'published')
    assert.equal((await edge.get('/', { cookie })).text, 'draft')
  }
  const both = await Promise.all([edge.get('/new', { cookie: '__prerender_bypass=x' }), edge.get('/new')])
  assert.deepEqual(
    both.map(({ text }) => text),
    ['draft', 'published'],
  )
})

test('an error that one visitor provokes is not shown to the others', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) => {
    if (!headers['x-oversized']) return send(response, MINUTE, 'well')
    response.writeHead(400, { 'content-type': 'text/plain' })
    response.end('too large')
  })
  assert.equal((await edge.get('/', { 'x-oversized': 'x'.repeat(10_000) })).status, 400)
  assert.equal((await edge.get('/')).text, 'well')
})

test('no visitor can keep stored responses from the others, or make them fetch on their own', async (t) => {
  const edge = await cachedApp(t, ({ url }, response) => send(response, MINUTE, url))
  await edge.get('/')
  const attacks: Record<string, string>[] = [
    { 'cache-control': 'no-store' },
    { 'cache-control': 'no-cache, no-store' },
    { 'cache-control': 'max-age=0' },
    { pragma: 'no-cache' },
    { authorization: 'x', 'cache-control': 'no-cache' },
    { range: 'bytes=0-0', 'cache-control': 'no-cache' },
    { 'if-none-match': '*', 'cache-control': 'no-cache' },
    { 'if-match': '"x"', 'cache-control': 'no-cache' },
  ]
  for (const headers of attacks) {
    await edge.get('/', headers)
    assert.match(statusOf(await edge.get('/')), /^hit/, JSON.stringify(headers))
  }
  for (const method of ['OPTIONS', 'TRACE']) {
    await ask(edge.port, { method })
    assert.match(statusOf(await edge.get('/')), /^hit/, method)
  }
})

test('URLs and headers of maximum length are distinguished to their last character', async (t) => {
  const edge = await cachedApp(t, ({ url }, response) => send(response, MINUTE, String(url?.slice(-3))))
  const long = `/${'x'.repeat(8000)}`
  for (const end of ['abc', 'abd', 'abc', 'abd']) assert.equal((await edge.get(`${long}${end}`)).text, end)
  assert.equal(edge.asked.length, 2)
  const rsc = 'y'.repeat(15_000)
  for (const end of ['1', '2', '1', '2']) await edge.get('/abc', { rsc: rsc + end })
  assert.equal(edge.asked.length, 4)
  const nothing: EdgeResponse = await edge.get(`/${'x'.repeat(9000)}`)
  assert.equal(nothing.status, 414)
})

test('a header of one name cannot be taken for a part of the address, nor for another header', async (t) => {
  const edge = await cachedApp(t, gullible)
  const asked: Record<string, string>[] = [
    { rsc: '1', 'next-url': '/a' },
    { rsc: '1","next-url","/a' },
    { 'next-url': '/a","rsc","1' },
    { rsc: '1"]:14:site.localhost/x' },
    { rsc: '' },
    {},
  ]
  for (const headers of asked) await edge.get('/', headers)
  assert.equal(edge.asked.length, asked.length)
})

/** How stored responses are sent: whole, in part, or as a 304. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedApp, counting, send, statusOf } from '../../../test/support/edge/cache.ts'
import { ask, askRaw, HOST } from '../../../test/support/edge/edge.ts'

const MINUTE = { 'cache-control': 's-maxage=60' }

test('a fresh object is sent without asking the app, with its age and with what the cache did', async (t) => {
  const edge = await cachedApp(t, counting({ ...MINUTE, 'x-powered-by': 'test' }))
  const first = await edge.get('/')
  assert.equal(statusOf(first), 'fwd=uri-miss; stored')
  assert.equal(first.headers.age, undefined)
  edge.pass(20)
  const second = await edge.get('/')
  assert.equal(second.text, 'answer 1')
  assert.equal(second.headers.age, '20')
  assert.equal(statusOf(second), 'hit; ttl=40')
  assert.equal(second.headers['x-powered-by'], 'test')
  assert.ok(second.headers.date, 'it says when it came')
  edge.pass(20)
  assert.equal((await edge.get('/')).headers.date, second.headers.date)
  edge.pass(20)
  const third = await edge.get('/')
  assert.equal(third.text, 'answer 2')
  assert.match(statusOf(third), /^fwd=stale; stored$/)
  assert.equal(edge.asked.length, 2)
})

test('a response without a lifetime is not stored, and neither is one that is for one reader or sets a cookie', async (t) => {
  const headers: Record<string, Record<string, string>> = {
    '/nothing': {},
    '/private': { 'cache-control': 'private, max-age=60' },
    '/no-store': { 'cache-control': 'no-store, max-age=60' },
    '/cookie': { ...MINUTE, 'set-cookie': 'a=b' },
    '/all': { ...MINUTE, vary: '*' },
  }
  const edge = await cachedApp(t, ({ url = '' }, response) =>
    send(response, headers[url] ?? {}, `${edge.asked.length}`),
  )
  for (const path of Object.keys(headers)) {
    const bodies = [await edge.get(path), await edge.get(path), await edge.get(path)].map(({ text }) => text)
    assert.equal(new Set(bodies).size, 3, path)
  }
  assert.equal(statusOf(await edge.get('/cookie')), 'fwd=uri-miss; detail=set-cookie')
  assert.equal(statusOf(await edge.get('/nothing')), 'fwd=uri-miss; detail=no-lifetime')
})

test('paths, queries and hosts are distinguished character by character', async (t) => {
  const edge = await cachedApp(t, ({ url, headers }, response) => send(response, MINUTE, `${headers.host}${url}`))
  const asked = ['/a', '/a?', '/a?b', '/a?B', '/A', '/a/', '//a', '/a?b&c', '/a?c&b', '/%61', '/a;b', '/a/.', '/a%2f']
  for (let round = 0; round < 2; round++) {
    for (const path of asked) assert.equal((await edge.get(path)).text, `${HOST}${path}`)
    assert.equal((await ask(edge.port, { host: `${HOST}:8080`, path: '/a' })).text, `${HOST}:8080/a`)
  }
  assert.equal(edge.asked.length, asked.length + 1)
})

test('a HEAD request is answered from the stored response to GET', async (t) => {
  const edge = await cachedApp(t, counting(MINUTE))
  assert.equal(statusOf(await ask(edge.port, { method: 'HEAD' })), 'fwd=uri-miss')
  await edge.get()
  const head = await ask(edge.port, { method: 'HEAD' })
  assert.equal(head.headers['content-length'], '8')
  assert.equal(head.text, '')
  assert.equal(statusOf(head), 'hit; ttl=60')
  assert.deepEqual(
    edge.asked.map(({ method }) => method),
    ['HEAD', 'GET'],
  )
})

test("a reader's own conditions are answered from what is stored", async (t) => {
  const headers = {
    ...MINUTE,
    etag: '"one"',
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    'content-language': 'en',
  }
  const edge = await cachedApp(t, (_, response) => send(response, headers))
  const first = await edge.get('/', { 'if-none-match': '"one"' })
  assert.equal(first.status, 304, 'also when it had to be fetched')
  assert.equal(edge.asked[0]?.headers['if-none-match'], undefined, 'for the response is for others as well')
  const known = await edge.get('/', { 'if-none-match': 'W/"zero", W/"one"' })
  assert.equal(known.status, 304)
  assert.equal(known.headers.etag, '"one"')
  assert.equal(known.headers['cache-control'], 's-maxage=60')
  assert.equal(known.headers['content-length'], undefined)
  assert.equal(known.headers['content-language'], undefined)
  assert.equal(statusOf(known), 'hit; ttl=60')
  assert.equal((await edge.get('/', { 'if-none-match': '"two"' })).status, 200)
  assert.equal((await edge.get('/', { 'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' })).status, 304)
  assert.equal((await edge.get('/', { 'if-modified-since': 'Wed, 31 Dec 2025 23:59:59 GMT' })).status, 200)
  assert.equal(edge.asked.length, 1)
})

test('a part is cut out of a stored whole', async (t) => {
  const edge = await cachedApp(t, (_, response) => send(response, { ...MINUTE, etag: '"one"' }, '0123456789'))
  await edge.get()
  const part = await edge.get('/', { range: 'bytes=2-4' })
  assert.equal(part.status, 206)
  assert.equal(part.text, '234')
  assert.equal(part.headers['content-range'], 'bytes 2-4/10')
  assert.equal(part.headers['content-length'], '3')
  assert.equal((await edge.get('/', { range: 'bytes=-3' })).text, '789')
  assert.equal((await edge.get('/', { range: 'bytes=8-' })).text, '89')
  const beyond = await edge.get('/', { range: 'bytes=10-' })
  assert.equal(beyond.status, 416)
  assert.equal(beyond.headers['content-range'], 'bytes */10')
  const same = await edge.get('/', { range: 'bytes=2-4', 'if-range': '"one"' })
  assert.equal(same.status, 206)
  const changed = await edge.get('/', { range: 'bytes=2-4', 'if-range': '"zero"' })
  assert.equal(changed.status, 200)
  assert.equal(changed.text, '0123456789')
  assert.equal((await ask(edge.port, { method: 'HEAD', headers: { range: 'bytes=2-4' } })).status, 200)
  assert.equal(edge.asked.length, 1)
})

test('a part of what is not stored is for the app to cut, and is not stored', async (t) => {
  const edge = await cachedApp(t, (request, response) => {
    if (request.headers.range !== 'bytes=2-4') return send(response, MINUTE, '0123456789')
    response.writeHead(206, { ...MINUTE, 'content-range': 'bytes 2-4/10' })
    response.end('234')
  })
  const part = await edge.get('/', { range: 'bytes=2-4' })
  assert.equal(part.status, 206)
  assert.equal(part.text, '234')
  assert.equal(statusOf(part), 'fwd=partial; detail=partial')
  assert.equal((await edge.get()).text, '0123456789')
  assert.equal((await edge.get('/', { range: 'bytes=0-0' })).text, '0')
  assert.equal(edge.asked.length, 2)
})

test('a request that is only-if-cached does not wait for the app', async (t) => {
  const edge = await cachedApp(t, counting(MINUTE))
  const notStored = await edge.get('/', { 'cache-control': 'only-if-cached' })
  assert.deepEqual([notStored.status, statusOf(notStored)], [504, 'detail=only-if-cached'])
  await edge.get()
  assert.equal((await edge.get('/', { 'cache-control': 'only-if-cached' })).text, 'answer 1')
  edge.pass(60)
  assert.equal((await edge.get('/', { 'cache-control': 'only-if-cached' })).status, 504)
  assert.equal(edge.asked.length, 1)
})

test('a request for a newer response gets it, and it is stored for the others', async (t) => {
  const edge = await cachedApp(t, counting(MINUTE))
  await edge.get()
  const newer = await edge.get('/', { 'cache-control': 'no-cache' })
  assert.equal(newer.text, 'answer 2')
  assert.equal(statusOf(newer), 'fwd=request; stored')
  assert.equal((await edge.get('/', { pragma: 'no-cache' })).text, 'answer 3')
  assert.equal((await edge.get()).text, 'answer 3')
})

test('a response to a no-store request is not stored, and removes nothing that is', async (t) => {
  const edge = await cachedApp(t, counting(MINUTE))
  assert.equal((await edge.get('/', { 'cache-control': 'no-store' })).text, 'answer 1')
  assert.equal((await edge.get()).text, 'answer 2')
  assert.equal((await edge.get('/', { 'cache-control': 'no-store, no-cache' })).text, 'answer 3')
  assert.equal((await edge.get()).text, 'answer 2')
})

test('a status without a body is stored without a length', async (t) => {
  const edge = await cachedApp(t, (_, response) => {
    response.writeHead(204, MINUTE)
    response.end()
  })
  for (const expected of ['fwd=uri-miss; stored', 'hit; ttl=60']) {
    const answer = await edge.get()
    assert.equal(answer.status, 204)
    assert.equal(answer.headers['content-length'], undefined)
    assert.equal(statusOf(answer), expected)
  }
})

test('errors, redirects and missing pages are stored where they say for how long', async (t) => {
  for (const status of [301, 302, 307, 308, 404, 410, 500, 503]) {
    const edge = await cachedApp(t, ({ url }, response) => {
      response.writeHead(status, url === '/stored' ? { ...MINUTE, location: '/there' } : { location: '/there' })
      response.end()
    })
    for (const path of ['/', '/stored', '/', '/stored']) {
      const answer = await edge.get(path)
      assert.equal(answer.status, status)
      assert.equal(answer.headers.location, '/there')
    }
    assert.equal(edge.asked.length, 3, String(status))
  }
})

test('an unusual reason is stored with its response', async (t) => {
  const edge = await cachedApp(t, (_, response) => {
    response.writeHead(200, 'Quite Good', MINUTE)
    response.end('body')
  })
  for (let round = 0; round < 2; round++) {
    const { text } = await askRaw(edge.port, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
    assert.match(text, /^HTTP\/1\.1 200 Quite Good\r\n/)
  }
  assert.equal(edge.asked.length, 1)
})

test('fields for caches are read and not forwarded', async (t) => {
  const headers = {
    'cache-control': 'max-age=0',
    'cdn-cache-control': 'max-age=60',
    'cache-tag': 'a, b',
    'x-next-cache-tags': 'c',
  }
  const edge = await cachedApp(t, (_, response) => send(response, headers))
  await edge.get()
  const hit = await edge.get()
  assert.equal(statusOf(hit), 'hit; ttl=60')
  assert.equal(hit.headers['cdn-cache-control'], undefined)
  for (const answer of [hit, await edge.get('/other')]) {
    assert.equal(answer.headers['cache-tag'], undefined)
    assert.equal(answer.headers['x-next-cache-tags'], undefined)
    assert.equal(answer.headers['cache-control'], 'max-age=0')
  }
  const { stored } = await edge.inspect('e1', `http://${HOST}/`)
  assert.deepEqual(stored[0]?.tags, ['a', 'b', 'c'])
})

/** What is done with a stored response that is not fresh any more, or is not right any more. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { cachedApp, counting, send, statusOf } from '../../../test/support/edge/cache.ts'
import { ask, HOST, serverTarget, untilStill } from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'

const REVALIDATED = { 'cache-control': 's-maxage=10, stale-while-revalidate=60' }

test('a stale object is served immediately while it is refreshed once', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const first = edge.get()
  await until(() => app.length === 1)
  send(app[0] as ServerResponse, REVALIDATED, 'old')
  await first
  edge.pass(30)
  const all = await Promise.all(Array.from({ length: 20 }, () => edge.get()))
  for (const answer of all) {
    assert.equal(answer.text, 'old')
    assert.equal(answer.headers.age, '30')
    assert.equal(statusOf(answer), 'hit; ttl=-20; detail=stale-while-revalidate')
  }
  assert.equal(await untilStill(() => app.length), 2)
  send(app[1] as ServerResponse, REVALIDATED, 'new')
  await until(() => (app[1] as ServerResponse).writableFinished)
  await untilStill(() => app.length)
  const fresh = await edge.get()
  assert.equal(fresh.text, 'new')
  assert.equal(statusOf(fresh), 'hit; ttl=10')
  edge.pass(71)
  const late = edge.get()
  await until(() => app.length === 3)
  send(app[2] as ServerResponse, REVALIDATED, 'newest')
  assert.equal((await late).text, 'newest', 'behind its window it is not served without asking')
})

test('refreshes are bounded, and those beyond are tried by the next reader', async (t) => {
  const app: ServerResponse[] = []
  let isSlow = false
  const edge = await cachedApp(t, (_, response) => (isSlow ? app.push(response) : send(response, REVALIDATED, 'old')), {
    limits: { refreshes: 2 },
  })
  const paths = ['/1', '/2', '/3', '/4']
  for (const path of paths) await edge.get(path)
  isSlow = true
  edge.pass(20)
  for (const path of paths) assert.equal((await edge.get(path)).text, 'old')
  assert.equal(await untilStill(() => app.length), 2)
  for (const response of app) send(response, REVALIDATED, 'new')
  await untilStill(() => app.length)
  for (const path of paths) await edge.get(path)
  assert.equal(await untilStill(() => app.length), 4)
})

test('an app that never answers its refreshes keeps none of another environment’s from being made', async (t) => {
  let isSlow = false
  const edge = await cachedApp(
    t,
    (asked, response) => {
      if (!isSlow || asked.headers.host !== HOST) send(response, REVALIDATED, isSlow ? 'new' : 'old')
    },
    { limits: { refreshes: 4, refreshesPerEnvironment: 100 } },
  )
  const other = { ...serverTarget(edge.app.port, 'i2', 'd2'), environment: 'e2' }
  edge.use({ [HOST]: serverTarget(edge.app.port), 'other.localhost': other })
  const visit = (path: string) => ask(edge.port, { host: 'other.localhost', path })
  for (let n = 0; n < 10; n++) await edge.get(`/${n}`)
  await visit('/')
  isSlow = true
  edge.pass(20)
  for (let n = 0; n < 10; n++) assert.equal((await edge.get(`/${n}`)).text, 'old')
  assert.equal((await visit('/')).text, 'old')
  await untilStill(() => edge.asked.length)
  assert.equal((await visit('/')).text, 'new')
})

test('a refresh that fails leaves the stale response stored', async (t) => {
  let status = 200
  const edge = await cachedApp(t, (_, response) => {
    response.writeHead(status, REVALIDATED)
    response.end(String(status))
  })
  await edge.get()
  edge.pass(20)
  for (status of [500, 503]) {
    for (let round = 0; round < 2; round++) {
      assert.equal((await edge.get()).text, '200')
      await untilStill(() => edge.asked.length)
    }
  }
  assert.equal(edge.asked.length, 5)
})

test('a page that is gone is not served stale any more, even though the 404 is not stored', async (t) => {
  for (const status of [404, 410]) {
    let isGone = false
    const edge = await cachedApp(t, (_, response) => {
      response.writeHead(isGone ? status : 200, isGone ? { 'cache-control': 'no-store' } : REVALIDATED)
      response.end()
    })
    await edge.get()
    isGone = true
    edge.pass(20)
    assert.equal((await edge.get()).status, 200)
    await untilStill(() => edge.asked.length)
    assert.equal((await edge.get()).status, status)
  }
})

test('an app that fails is hidden behind what is stale, where the response allows it', async (t) => {
  let fault: number | undefined
  const edge = await cachedApp(t, ({ url, socket }, response) => {
    if (fault === 0) return void socket.destroy()
    response.writeHead(fault ?? 200, {
      'cache-control': url === '/covered' ? 'max-age=10, stale-if-error=60' : 's-maxage=10',
    })
    response.end(`${url} ${fault ?? 200}`)
  })
  await edge.get('/covered')
  await edge.get('/bare')
  edge.pass(20)
  for (fault of [500, 502, 503, 504]) {
    const covered = await edge.get('/covered')
    assert.equal(covered.text, '/covered 200')
    assert.equal(statusOf(covered), `fwd=stale; fwd-status=${fault}; detail=stale-if-error`)
  }
  fault = 0
  const unreachable = await edge.get('/covered')
  assert.equal(unreachable.text, '/covered 200')
  assert.equal(statusOf(unreachable), 'fwd=stale; detail=stale-if-error-broken')
  const bare = await edge.get('/bare')
  assert.equal(bare.status, 502)
  assert.equal(statusOf(bare), 'fwd=stale; detail=broken')
  fault = 501
  assert.equal((await edge.get('/covered')).status, 501, 'that is no fault of the moment')
  fault = undefined
  await edge.get('/covered', { 'cache-control': 'no-cache' })
  edge.pass(80)
  fault = 500
  assert.equal((await edge.get('/covered')).status, 500, 'behind its window the error is shown')
})

test('an app that cannot be reached is hidden behind what is stale, unless that is forbidden', async (t) => {
  const edge = await cachedApp(t, ({ url = '' }, response) =>
    send(response, { 'cache-control': decodeURIComponent(url.slice(1)), etag: '"one"' }),
  )
  const words = [
    'max-age=10',
    'max-age=10, must-revalidate',
    'max-age=10, proxy-revalidate',
    'max-age=10, no-cache',
    's-maxage=10',
  ]
  for (const word of words) await edge.get(`/${encodeURIComponent(word)}`)
  edge.pass(20)
  // A port without a listener.
  edge.use({
    [HOST]: { kind: 'server', environment: 'e1', deployment: 'd1', instance: 'i2', host: '127.0.0.1', port: 1 },
  })
  for (const word of words) {
    const answer = await edge.get(`/${encodeURIComponent(word)}`)
    assert.equal(answer.status, word === 'max-age=10' ? 200 : 502, word)
  }
})

test('for an app that keeps crashing, stored responses are served, unless that is forbidden', async (t) => {
  const edge = await cachedApp(t, (request, response) =>
    send(
      response,
      { 'cache-control': request.url === '/strict' ? 'max-age=10, must-revalidate' : 'max-age=10' },
      'kept',
    ),
  )
  for (const path of ['/', '/strict']) await edge.get(path)
  edge.use({ [HOST]: { kind: 'down', environment: 'e1', deployment: 'd1' } })
  for (const path of ['/', '/strict']) assert.equal(statusOf(await edge.get(path)), 'hit; ttl=10')
  edge.pass(60)
  const stale = await edge.get('/')
  assert.deepEqual([stale.text, statusOf(stale)], ['kept', 'hit; ttl=-50; detail=stale-if-error'])
  assert.equal((await edge.get('/strict')).status, 503)
  assert.equal((await edge.get('/unknown')).status, 503)
})

test('what must be validated is never served without asking, however fresh', async (t) => {
  const edge = await cachedApp(t, counting({ 'cache-control': 'no-cache, stale-if-error=60', etag: '"one"' }))
  for (let n = 1; n <= 3; n++) assert.equal((await edge.get()).text, `answer ${n}`)
  assert.equal(edge.asked[2]?.headers['if-none-match'], '"one"')
})

test('a 304 of the app makes what is stored fresh again, with what it says', async (t) => {
  let round = 0
  const edge = await cachedApp(t, ({ headers }, response) => {
    round++
    const sent = { 'cache-control': `max-age=${round * 10}`, etag: '"one"', 'x-round': String(round) }
    if (headers['if-none-match'] !== '"one"') return send(response, sent, 'body')
    response.writeHead(304, { ...sent, 'content-length': '0', 'content-type': 'text/wrong' })
    response.end()
  })
  await edge.get()
  edge.pass(15)
  const validated = await edge.get()
  assert.equal(validated.status, 200)
  assert.equal(validated.text, 'body')
  assert.equal(validated.headers['x-round'], '2')
  assert.equal(validated.headers['content-length'], '4')
  assert.equal(statusOf(validated), 'fwd=stale; fwd-status=304; stored')
  edge.pass(15)
  const hit = await edge.get()
  assert.equal(hit.headers.age, '15')
  assert.equal(statusOf(hit), 'hit; ttl=5')
  assert.equal(edge.asked.length, 2)
})

test('a 304 for one reader alone, with a cookie, is not given to those who wait for the same fetch', async (t) => {
  const app: { response: ServerResponse; who: string | undefined }[] = []
  const edge = await cachedApp(t, ({ headers }, response) => app.push({ response, who: headers.cookie }))
  const reply = (n: number) => app[n] as (typeof app)[0]
  const first = edge.get()
  await until(() => app.length === 1)
  send(reply(0).response, { 'cache-control': 'max-age=10', etag: '"one"' }, 'body')
  await first
  edge.pass(20)
  const leader = edge.get('/', { cookie: 'leader' })
  await until(() => app.length === 2)
  const other = edge.get('/', { cookie: 'other' })
  await untilStill(() => app.length)
  reply(1).response.writeHead(304, { etag: '"one"', 'set-cookie': 'session=leader' })
  reply(1).response.end()
  assert.deepEqual((await leader).headers['set-cookie'], ['session=leader'])
  assert.equal((await leader).text, 'body')
  await until(() => app.length === 3)
  assert.equal(reply(2).who, 'other')
  send(reply(2).response, { 'set-cookie': 'session=other' }, 'body')
  assert.deepEqual((await other).headers['set-cookie'], ['session=other'])
})

test('a 304 about something else is no answer: it is asked again, without conditions', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) => {
    if (headers['if-none-match'] === undefined)
      return send(response, { 'cache-control': 'max-age=10', etag: '"one"' }, `${edge.asked.length}`)
    response.writeHead(304, { etag: '"two"' })
    response.end()
  })
  await edge.get()
  edge.pass(20)
  assert.equal((await edge.get()).text, '3')
  assert.deepEqual(
    edge.asked.map(({ headers }) => headers['if-none-match']),
    [undefined, '"one"', undefined],
  )
})

test('a 304 that brings a new tag is not enough: a purge by that tag must find the object', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) => {
    const sent = { 'cache-control': 'max-age=10', etag: '"one"', 'cache-tag': edge.asked.length > 1 ? 'a, b' : 'a' }
    if (headers['if-none-match'] === undefined) return send(response, sent, `${edge.asked.length}`)
    response.writeHead(304, sent)
    response.end()
  })
  await edge.get()
  edge.pass(20)
  assert.equal((await edge.get()).text, '3')
  edge.purge({ environment: 'e1', tags: ['b'] })
  assert.equal((await edge.get()).text, '4')
})

test('a newer response that must not be stored removes the older one', async (t) => {
  let isPrivate = false
  const edge = await cachedApp(t, (_, response) =>
    send(response, { 'cache-control': isPrivate ? 'private' : REVALIDATED['cache-control'] }, `${isPrivate}`),
  )
  await edge.get()
  isPrivate = true
  edge.pass(20)
  assert.equal((await edge.get()).text, 'false')
  await untilStill(() => edge.asked.length)
  assert.equal((await edge.get()).text, 'true')
})

test('a HEAD that shows a change removes the stored response, and one that shows none freshens it', async (t) => {
  let etag = '"one"'
  const edge = await cachedApp(t, ({ method }, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=10', etag })
    response.end(method === 'GET' ? etag : undefined)
  })
  await edge.get()
  edge.pass(20)
  assert.equal(statusOf(await ask(edge.port, { method: 'HEAD' })), 'fwd=stale')
  assert.equal(statusOf(await edge.get()), 'hit; ttl=10')
  edge.pass(20)
  etag = '"two"'
  await ask(edge.port, { method: 'HEAD' })
  assert.equal(statusOf(await edge.get()), 'fwd=uri-miss; stored')
})

test('an unsafe request removes what is stored for its URL, and for the URLs that its response names', async (t) => {
  const edge = await cachedApp(t, ({ method, url = '', headers }, response) => {
    if (method === 'GET') return send(response, { 'cache-control': 'max-age=60' }, `${edge.asked.length}`)
    const [status, name, value] = String(headers['x-reply']).split(' ')
    response.writeHead(Number(status), name ? { [name]: value ?? url } : {})
    response.end()
  })
  const isKept = async (path: string, method: string, reply: string, at: string) => {
    const before = (await edge.get(at)).text
    await ask(edge.port, { method, path, headers: { 'x-reply': reply } })
    return (await edge.get(at)).text === before
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'MERGE']) {
    for (const status of [200, 201, 204, 303]) assert.equal(await isKept('/a', method, String(status), '/a'), false)
    for (const status of [400, 404, 409, 500]) assert.equal(await isKept('/a', method, String(status), '/a'), true)
    assert.equal(await isKept('/a', method, '200', '/b'), true)
  }
  for (const method of ['OPTIONS', 'HEAD']) assert.equal(await isKept('/a', method, '200', '/a'), true, method)
  for (const name of ['location', 'content-location']) {
    assert.equal(await isKept('/a', 'POST', `201 ${name} /list`, '/list'), false)
    assert.equal(await isKept('/a', 'POST', `201 ${name} http://${HOST}/list`, '/list'), false)
    assert.equal(await isKept('/a/b', 'POST', `201 ${name} ../list`, '/list'), false)
    assert.equal(await isKept('/a', 'POST', `201 ${name} http://other.localhost/list`, '/list'), true)
    assert.equal(await isKept('/a', 'POST', `201 ${name} http://${HOST}:81/list`, '/list'), true)
    assert.equal(await isKept('/a', 'POST', `201 ${name} https://${HOST}/list`, '/list'), true)
    assert.equal(await isKept('/a', 'POST', `400 ${name} /list`, '/list'), true)
  }
})

test('responses to framework requests for a URL are removed with its page', async (t) => {
  const edge = await cachedApp(t, ({ method }, response) =>
    method === 'GET' ? send(response, { 'cache-control': 'max-age=60' }, `${edge.asked.length}`) : response.end(),
  )
  const payload = () => edge.get('/page', { rsc: '1' })
  const before = (await payload()).text
  assert.equal((await payload()).text, before)
  await ask(edge.port, { method: 'POST', path: '/page' })
  assert.notEqual((await payload()).text, before)
})

test('a response that was in flight during an unsafe request for its URL is not stored', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, ({ method }, response) => (method === 'GET' ? app.push(response) : response.end()))
  const before = edge.get('/page')
  await until(() => app.length === 1)
  await ask(edge.port, { method: 'POST', path: '/page' })
  send(app[0] as ServerResponse, { 'cache-control': 'max-age=60' }, 'before')
  assert.equal((await before).text, 'before')
  const after = edge.get('/page')
  await until(() => app.length === 2)
  send(app[1] as ServerResponse, { 'cache-control': 'max-age=60' }, 'after')
  assert.equal((await after).text, 'after')
})

test('unsafe requests for URLs that are not stored record no purge', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, ({ method }, response) => (method === 'GET' ? app.push(response) : response.end()))
  for (let n = 0; n < 20; n++) await ask(edge.port, { method: 'POST', path: `/${n}` })
  const { lastPurge } = await edge.inspect('e1', `http://${HOST}/1`)
  assert.equal(lastPurge, null)
})

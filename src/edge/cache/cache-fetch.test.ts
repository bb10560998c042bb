/** What is not stored is fetched once for all requests that wait for it, and forwarded as it arrives. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { cachedApp, send, statusOf } from '../../../test/support/edge/cache.ts'
import { HOST, readRaw, untilStill } from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'

const MINUTE = { 'cache-control': 'max-age=60' }

/** A request whose response is read by hand. */
function open(port: number, path = '/', headers: Record<string, string> = {}) {
  const sent = request({ host: '127.0.0.1', port, path, headers: { host: HOST, ...headers }, agent: false })
  sent.on('error', () => undefined)
  sent.end()
  return sent
}

const many = <Each>(count: number, each: (n: number) => Each): Each[] =>
  Array.from({ length: count }, (_, n) => each(n))

test('a hundred readers who miss the same cost one fetch', async (t) => {
  const waiting: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => waiting.push(response))
  const all = many(100, () => edge.get())
  await until(() => waiting.length === 1)
  const [, ...joined] = all
  await untilStill(() => waiting.length)
  send(waiting[0] as ServerResponse, MINUTE, 'for all')
  for (const { text, status } of await Promise.all(all)) assert.deepEqual([status, text], [200, 'for all'])
  assert.equal(edge.asked.length, 1)
  const words = new Set((await Promise.all(joined)).map(statusOf))
  assert.ok(words.has('fwd=uri-miss; stored; collapsed'), [...words].join())
})

test('a client that accepts other encodings does not wait for a response that it cannot decode', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) => {
    const encoding = headers['accept-encoding']
    send(response, { ...MINUTE, ...(encoding ? { 'content-encoding': 'br' } : {}) }, `for ${encoding}`)
  })
  const [plain, browser, other] = await Promise.all([
    edge.get(),
    edge.get('/', { 'accept-encoding': 'gzip, deflate, br, zstd' }),
    edge.get('/', { 'accept-encoding': 'br;q=0.9, gzip' }),
  ])
  assert.equal(plain.text, 'for undefined')
  assert.equal(browser.text, 'for br, gzip')
  assert.equal(other.text, 'for br, gzip')
  assert.equal(edge.asked.length, 2)
})

test('all readers of a slow response get its first bytes before its last are there, and all in order', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const leader = open(edge.port)
  await until(() => app.length === 1)
  const early = open(edge.port)
  await untilStill(() => app.length)
  const [response] = app as [ServerResponse]
  response.writeHead(200, MINUTE)
  response.write('first ')
  const begun = [(await once(leader, 'response'))[0], (await once(early, 'response'))[0]] as IncomingMessage[]
  for (const reader of begun) {
    const [chunk] = await once(reader, 'data')
    assert.equal(String(chunk), 'first ')
  }
  response.write('second ')
  for (const reader of begun) assert.equal(String((await once(reader, 'data'))[0]), 'second ')
  const late = open(edge.port)
  const [joined] = (await once(late, 'response')) as [IncomingMessage]
  assert.equal(joined.headers['cache-status'], 'headland; fwd=uri-miss; stored; collapsed')
  let text = ''
  joined.on('data', (chunk) => {
    text += chunk
  })
  await until(() => text === 'first second ')
  response.end('third')
  for (const reader of begun) assert.equal(String(await buffer(reader)), 'third')
  await until(() => text === 'first second third')
  assert.equal((await edge.get()).text, 'first second third')
  assert.equal(app.length, 1)
})

test('variants that are wanted at the same time each go to their own readers', async (t) => {
  const app: { language: string | undefined; response: ServerResponse }[] = []
  const edge = await cachedApp(t, ({ headers }, response) =>
    app.push({ language: headers['accept-language'], response }),
  )
  const readers = many(20, (n) => ({
    language: n % 2 ? 'de' : 'en',
    answer: edge.get('/', { 'accept-language': n % 2 ? 'de' : 'en' }),
  }))
  await until(() => app.length === 1)
  await untilStill(() => app.length)
  for (let answered = 0; answered < app.length; ) {
    const { language, response } = app[answered++] as (typeof app)[0]
    send(response, { ...MINUTE, vary: 'Accept-Language' }, `in ${language}`)
    await untilStill(() => app.length)
  }
  for (const { language, answer } of readers) assert.equal((await answer).text, `in ${language}`)
  const asked = app.length
  assert.ok(asked <= 11, `those of the leader's language came with it, ${asked} fetches`)
  for (const language of ['de', 'en'])
    assert.equal((await edge.get('/', { 'accept-language': language })).text, `in ${language}`)
  assert.equal(app.length, asked)
})

test('a response for one reader goes to no other one, and the next requests do not wait for such a response', async (t) => {
  const app: { response: ServerResponse; who: string | undefined }[] = []
  const edge = await cachedApp(t, ({ headers }, response) => app.push({ response, who: headers.cookie }))
  const reply = ({ response, who }: (typeof app)[0]) => send(response, { 'cache-control': 'private' }, `for ${who}`)
  const all = many(5, (n) => edge.get('/', { cookie: `user=${n}` }))
  await until(() => app.length === 1)
  await untilStill(() => app.length)
  reply(app[0] as (typeof app)[0])
  await until(() => app.length === 5)
  for (const one of app.slice(1)) reply(one)
  for (const [n, answer] of (await Promise.all(all)).entries()) assert.equal(answer.text, `for user=${n}`)

  const later = many(5, (n) => edge.get('/', { cookie: `user=later-${n}` }))
  await until(() => app.length === 10)
  for (const one of app.slice(5)) reply(one)
  for (const [n, answer] of (await Promise.all(later)).entries()) assert.equal(answer.text, `for user=later-${n}`)

  edge.pass(61)
  const again = many(3, () => edge.get())
  await until(() => app.length === 11)
  assert.equal(await untilStill(() => app.length), 11, 'it is tried again after a while')
  send((app[10] as (typeof app)[0]).response, MINUTE, 'for all')
  for (const answer of await Promise.all(again)) assert.equal(answer.text, 'for all')
})

test('cache directives of one request do not make the others fetch on their own', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const single = [
    edge.get('/', { 'cache-control': 'no-store' }),
    edge.get('/', { authorization: 'Bearer token' }),
    edge.get('/', { range: 'bytes=0-1' }),
  ]
  await until(() => app.length === 3)
  for (const response of app) send(response, MINUTE, 'for one')
  await Promise.all(single)
  edge.purge({ environment: 'e1' })
  const all = many(10, () => edge.get())
  await until(() => app.length === 4)
  assert.equal(await untilStill(() => app.length), 4)
  send(app[3] as ServerResponse, MINUTE, 'for all')
  for (const answer of await Promise.all(all)) assert.equal(answer.text, 'for all')
})

test('fields for one reader alone are not sent to those who wait for the same fetch', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const headers = { 'cache-control': 'max-age=60, private="x-user"', 'x-user': 'leader', 'x-all': 'yes' }
  for (const [path, isLong] of [
    ['/short', false],
    ['/long', true],
  ] as const) {
    const count = app.length
    const leader = edge.get(path)
    await until(() => app.length === count + 1)
    const joiner = edge.get(path)
    await untilStill(() => app.length)
    const response = app[count] as ServerResponse
    response.writeHead(200, headers)
    if (isLong) response.write('a beginning')
    if (isLong) await untilStill(() => app.length)
    response.end('end')
    assert.equal((await leader).headers['x-user'], 'leader')
    assert.equal((await joiner).headers['x-user'], undefined)
    assert.equal((await joiner).headers['x-all'], 'yes')
    assert.equal((await edge.get(path)).headers['x-user'], undefined)
  }
})

test("a leader who leaves does not take the others' response away", async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const leader = open(edge.port)
  await until(() => app.length === 1)
  const others = many(3, () => edge.get())
  await untilStill(() => app.length)
  leader.destroy()
  await untilStill(() => app.length)
  const [response] = app as [ServerResponse]
  assert.equal(response.destroyed, false)
  response.writeHead(200, MINUTE)
  response.write('first ')
  await untilStill(() => app.length)
  response.end('last')
  for (const answer of await Promise.all(others)) assert.equal(answer.text, 'first last')
  assert.equal(app.length, 1)
})

test('when a leader leaves and the response turns out to be private, each of the others fetches on its own', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const leader = open(edge.port)
  await until(() => app.length === 1)
  const others = many(2, () => edge.get())
  await untilStill(() => app.length)
  leader.destroy()
  await untilStill(() => app.length)
  send(app[0] as ServerResponse, { 'cache-control': 'private' }, 'for the leader')
  await until(() => app.length === 3)
  for (const response of app.slice(1)) send(response, { 'cache-control': 'private' }, 'for another')
  for (const answer of await Promise.all(others)) assert.equal(answer.text, 'for another')
})

test('a request that no client waits for any more is aborted', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const readers = many(3, () => open(edge.port))
  await until(() => app.length === 1)
  await untilStill(() => app.length)
  for (const reader of readers) reader.destroy()
  await once(app[0] as ServerResponse, 'close')
  assert.equal((app[0] as ServerResponse).writableEnded, false)
})

test('a response that has begun is finished and stored though its reader has left, within bounds', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response), { limits: { unwatchedMs: 200 } })
  for (const isFinished of [true, false]) {
    const path = isFinished ? '/finished' : '/endless'
    const reader = open(edge.port, path)
    await until(() => app.length === (isFinished ? 1 : 2))
    const response = app.at(-1) as ServerResponse
    response.writeHead(200, MINUTE)
    response.write('first ')
    const [received] = (await once(reader, 'response')) as [IncomingMessage]
    await once(received, 'data')
    reader.destroy()
    if (!isFinished) {
      await once(response, 'close')
      continue
    }
    response.end('last')
    await until(() => response.writableFinished)
    assert.equal((await edge.get(path)).text, 'first last')
  }
  assert.equal(app.length, 2)
})

test('an endless response is not read on when no client is left, also when it is too large for memory', async (t) => {
  const app: ServerResponse[] = []
  const limits = { bufferedBytes: 1000, unwatchedMs: 100 }
  const edge = await cachedApp(t, (_, response) => app.push(response), { limits, diskBytes: 1e7 })
  const reader = open(edge.port)
  await until(() => app.length === 1)
  const [response] = app as [ServerResponse]
  response.writeHead(200, MINUTE)
  response.write(Buffer.alloc(5000))
  const [received] = (await once(reader, 'response')) as [IncomingMessage]
  await once(received, 'data')
  const trickle = setInterval(() => response.write('more'), 10)
  t.after(() => clearInterval(trickle))
  reader.destroy()
  await once(response, 'close')
})

test('a client that does not read fills no memory and does not block the others for good', async (t) => {
  let sent = 0
  const size = 40_000_000
  const edge = await cachedApp(
    t,
    (_, response) => {
      response.writeHead(200, { ...MINUTE, 'content-length': size })
      const chunk = Buffer.alloc(64 * 1024)
      function more() {
        while (sent < size && !response.destroyed) {
          const piece = chunk.subarray(0, Math.min(chunk.length, size - sent))
          sent += piece.length
          if (!response.write(piece)) return void response.once('drain', more)
        }
        if (sent === size) response.end()
      }
      setTimeout(more, 100)
    },
    { limits: { bufferedBytes: 100_000 } },
  )
  // Both wait for one fetch; one of them never reads.
  const deaf = connect(edge.port, '127.0.0.1')
  deaf.on('error', () => undefined)
  deaf.pause()
  deaf.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await until(() => edge.asked.length === 1)
  const reader = open(edge.port)
  const [received] = (await once(reader, 'response')) as [IncomingMessage]
  let got = 0
  received.on('data', (chunk: Buffer) => {
    got += chunk.length
  })
  const max = await untilStill(() => sent)
  assert.ok(max < 20_000_000, `${max} bytes were taken from the app for one who does not read`)
  deaf.destroy()
  await until(() => got === size)
  assert.equal(edge.asked.length, 1)
})

test('an app that says "not modified" to everything is asked twice, not for ever', async (t) => {
  let isBroken = false
  const edge = await cachedApp(t, (_, response) => {
    if (!isBroken) return send(response, { 'cache-control': 'max-age=1', etag: '"one"' })
    response.writeHead(304, { etag: '"other"' })
    response.end()
  })
  await edge.get()
  isBroken = true
  edge.pass(10)
  const answer = await edge.get('/', { 'cache-control': 'no-cache' })
  assert.equal(answer.status, 502)
  assert.equal(edge.asked.length, 3)
  assert.equal(edge.asked[1]?.headers['if-none-match'], '"one"')
  assert.equal(edge.asked[2]?.headers['if-none-match'], undefined)
})

test('too many requests that wait for the app are refused, unless there is a stale response for them', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(
    t,
    ({ url }, response) => (url === '/stale' ? send(response, { 'cache-control': 'max-age=1' }) : app.push(response)),
    { limits: { requestsPerInstance: 1, waitingPerInstance: 1 } },
  )
  await edge.get('/stale')
  edge.pass(10)
  const first = edge.get('/first')
  await until(() => app.length === 1)
  const second = edge.get('/second')
  await untilStill(() => app.length)
  const busy = await edge.get('/third')
  assert.equal(busy.status, 503)
  assert.equal(statusOf(busy), 'fwd=uri-miss; detail=busy')
  const stale = await edge.get('/stale')
  assert.equal(stale.status, 200)
  assert.equal(statusOf(stale), 'fwd=stale; detail=stale-if-error-busy')
  send(app[0] as ServerResponse, MINUTE)
  await until(() => app.length === 2)
  send(app[1] as ServerResponse, MINUTE)
  assert.deepEqual([(await first).status, (await second).status], [200, 200])
})

test('readers of one connection get their answers in the order of their requests', async (t) => {
  const app = new Map<string | undefined, ServerResponse>()
  const edge = await cachedApp(t, ({ url }, response) => app.set(url, response))
  const socket = connect(edge.port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  socket.write(get('/1') + get('/2') + get('/3'))
  const text = readRaw(socket, /third/)
  await until(() => app.size === 3)
  app.get('/3')?.writeEarlyHints({ link: '</style.css>; rel=preload' })
  send(app.get('/3') as ServerResponse, MINUTE, 'third')
  send(app.get('/2') as ServerResponse, MINUTE, 'second')
  await untilStill(() => app.size)
  app.get('/1')?.writeEarlyHints({ link: '</style.css>; rel=preload' })
  send(app.get('/1') as ServerResponse, MINUTE, 'first')
  assert.match(await text, /^HTTP\/1\.1 103 [\s\S]*first[\s\S]*second[\s\S]*third/)
})

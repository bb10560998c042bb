import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { send } from '../../../test/support/edge/cache.ts'
import { HOST, untilStill } from '../../../test/support/edge/edge.ts'
import {
  askHttp2,
  askSecurely,
  edgeCertificate,
  openHttp2,
  readHttp2,
  secureApp,
} from '../../../test/support/edge/secure.ts'

test('a stream is answered by the app, and the app learns of HTTPS and the visitor', async (t) => {
  const app = await secureApp(t, (request, response) => {
    send(response, { 'x-asked': `${request.method} ${request.url} ${request.headers.host}` })
  })
  const session = await openHttp2(t, app)
  const answer = await askHttp2(session, { ':path': '/a?b=c', cookie: ['one=1', 'two=2'] })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-asked'], `GET /a?b=c ${HOST}`)
  assert.equal(answer.text, 'body')
  assert.equal(answer.headers.connection, undefined)
  const headers = app.asked[0]?.headers
  assert.equal(headers?.['x-forwarded-proto'], 'https')
  assert.equal(headers?.['x-forwarded-for'], '127.0.0.1')
  assert.equal(headers?.cookie, 'one=1; two=2')
})

test('a stored response answers further streams without the app', async (t) => {
  const app = await secureApp(t, (_, response) => send(response, { 'cache-control': 'max-age=60', etag: '"1"' }))
  const session = await openHttp2(t, app)
  await askHttp2(session)
  const hit = await askHttp2(session)
  assert.match(hit.headers['cache-status'] ?? '', /; hit/)
  assert.equal(hit.text, 'body')
  const same = await askHttp2(session, { 'if-none-match': '"1"' })
  assert.deepEqual([same.status, same.text], [304, ''])
  const head = await askHttp2(session, { ':method': 'HEAD' })
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '4'])
  assert.equal(app.asked.length, 1)
})

test('a response to a stream and one by HTTP/1.1 over TLS come out of the same cache', async (t) => {
  const app = await secureApp(t, (_, response) => send(response, { 'cache-control': 'max-age=60' }))
  const session = await openHttp2(t, app)
  await askHttp2(session)
  const answer = await askSecurely(app)
  assert.match(String(answer.headers['cache-status']), /; hit/)
  assert.equal(app.asked.length, 1)
})

test('a body is streamed to the app, with and without its length', async (t) => {
  const app = await secureApp(t, (request, response) => {
    let bytes = 0
    request.on('data', (chunk: Buffer) => (bytes += chunk.length))
    request.on('end', () => send(response, {}, `${bytes} ${request.headers['transfer-encoding'] ?? 'with length'}`))
  })
  const session = await openHttp2(t, app)
  const body = Buffer.alloc(3_000_000, 'x')
  assert.equal((await askHttp2(session, { ':method': 'POST' }, body)).text, '3000000 chunked')
  const known = await askHttp2(session, { ':method': 'PUT', 'content-length': body.length }, body)
  assert.equal(known.text, '3000000 with length')
})

test('many streams of one connection are answered at the same time', async (t) => {
  const waiting: (() => void)[] = []
  const app = await secureApp(t, (request, response) => {
    waiting.push(() => send(response, {}, String(request.url)))
    if (waiting.length === 50) for (const answer of waiting) answer()
  })
  const session = await openHttp2(t, app)
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => askHttp2(session, { ':path': `/${n}` })))
  assert.deepEqual(
    answers.map(({ text }) => text),
    Array.from({ length: 50 }, (_, n) => `/${n}`),
  )
})

test('a large response that is not read holds neither the app nor the edge', async (t) => {
  const total = 20_000_000
  let written = 0
  const app = await secureApp(t, async (_, response) => {
    response.writeHead(200, { 'cache-control': 'no-store' })
    const chunk = Buffer.alloc(100_000)
    while (written < total) {
      written += chunk.length
      if (!response.write(chunk)) await once(response, 'drain')
    }
    response.end()
  })
  const session = await openHttp2(t, app)
  const stream = session.request({ ':authority': HOST })
  await once(stream, 'response')
  // The windows are full before the app has written everything.
  const half = await untilStill(() => written)
  assert.ok(half < total, `${half} of ${total}`)
  let read = 0
  for await (const chunk of stream) read += chunk.length
  assert.equal(read, total)
})

test('a response that is cut off is an error of the stream and not of the connection', async (t) => {
  const app = await secureApp(t, (request, response) => {
    if (request.url === '/whole') return send(response, {})
    response.writeHead(200, { 'content-length': 100 })
    response.write('half')
    setImmediate(() => response.destroy())
  })
  const session = await openHttp2(t, app)
  await assert.rejects(askHttp2(session), { code: 'ERR_HTTP2_STREAM_ERROR' })
  assert.equal((await askHttp2(session, { ':path': '/whole' })).text, 'body')
})

test('a stream that the visitor resets ends the request to the app', async (t) => {
  const gone = Promise.withResolvers<void>()
  const app = await secureApp(t, (_, response) => {
    response.writeHead(200)
    response.write('beginning')
    response.once('close', gone.resolve)
  })
  const session = await openHttp2(t, app)
  const stream = session.request({ ':authority': HOST })
  await once(stream, 'response')
  stream.close()
  await gone.promise
})

test('events reach the visitor as they are sent', async (t) => {
  const next = Promise.withResolvers<void>()
  const app = await secureApp(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
    next.promise.then(() => response.end('data: 2\n\n'))
  })
  const session = await openHttp2(t, app)
  const stream = session.request({ ':authority': HOST })
  const [first] = await once(stream, 'data')
  assert.equal(String(first), 'data: 1\n\n')
  next.resolve()
  const [second] = await once(stream, 'data')
  assert.equal(String(second), 'data: 2\n\n')
})

test('what strict checks refuse in HTTP/1.1 is refused in HTTP/2', async (t) => {
  const app = await secureApp(t, (_, response) => send(response, {}))
  const session = await openHttp2(t, app)
  assert.equal((await askHttp2(session, { ':path': `/${'a'.repeat(9000)}` })).status, 414)
  await assert.rejects(askHttp2(session, { ':path': '/a b' }), { code: 'ERR_HTTP2_STREAM_ERROR' })
  assert.equal(app.asked.length, 0)
})

test('a name of another certificate on the same connection is misdirected', async (t) => {
  const app = await secureApp(t, (_, response) => send(response, {}))
  const other = await edgeCertificate(t, 'c2', ['other.localhost'])
  app.secure.changeCertificates({ set: [other], removed: [] })
  const session = await openHttp2(t, app)
  assert.equal((await askHttp2(session, { ':authority': 'other.localhost' })).status, 421)
  assert.equal((await askHttp2(session)).status, 200)
})

test('an edge that stops lets streams end, and refuses those that are on their way, so that clients repeat them', async (t) => {
  const begun = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const app = await secureApp(t, async (request, response) => {
    if (request.url === '/slow') begun.resolve()
    if (request.url === '/slow') await finish.promise
    send(response, {}, String(request.url))
  })
  const session = await openHttp2(t, app)
  const slow = readHttp2(session.request({ ':authority': HOST, ':path': '/slow' }))
  await begun.promise
  const late = readHttp2(session.request({ ':authority': HOST, ':path': '/late' }))
  // The edge has not read that request yet.
  const stopped = app.retire()
  await assert.rejects(late, /NGHTTP2_REFUSED_STREAM/)
  assert.deepEqual(
    app.asked.map(({ url }) => url),
    ['/slow'],
  )
  finish.resolve()
  assert.equal((await slow).text, '/slow')
  await stopped
})

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import {
  ask,
  askRaw,
  edgeBefore,
  HOST,
  readAnswer,
  readRaw,
  startRawUpstream,
  startUpstream,
  untilStill,
} from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'

const MEGABYTE = 1024 * 1024
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

test('50 MB come down at the pace of the reader, and no byte is lost', async (t) => {
  const chunk = randomBytes(MEGABYTE)
  let produced = 0
  const upstream = await startUpstream(t, (_, response) => {
    const source = Readable.from(
      (function* () {
        for (; produced < 50; produced++) yield chunk
      })(),
    )
    source.pipe(response)
  })
  const edge = await edgeBefore(t, upstream)
  const memoryBefore = process.memoryUsage().arrayBuffers
  const sent = request({ host: '127.0.0.1', port: edge.port, headers: { host: HOST }, agent: false }).end()
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  // The client does not read: what the kernel's buffers do not take is not sent.
  const buffered = await untilStill(() => produced)
  assert.ok(buffered < 40, `${buffered} MB were produced although the client did not read`)
  assert.ok(process.memoryUsage().arrayBuffers - memoryBefore < 10 * MEGABYTE)
  const hash = createHash('sha256')
  let size = 0
  for await (const part of received) {
    hash.update(part)
    size += part.length
  }
  const expected = createHash('sha256')
  for (let n = 0; n < 50; n++) expected.update(chunk)
  assert.equal(size, 50 * MEGABYTE)
  assert.equal(hash.digest('hex'), expected.digest('hex'))
})

test('50 MB go up at the pace of the application, and no byte is lost', async (t) => {
  const chunk = randomBytes(MEGABYTE)
  let produced = 0
  const reading = Promise.withResolvers<void>()
  const upstream = await startUpstream(t, async (asked, response) => {
    await reading.promise
    const hash = createHash('sha256')
    for await (const part of asked) hash.update(part)
    response.end(hash.digest('hex'))
  })
  const edge = await edgeBefore(t, upstream)
  const memoryBefore = process.memoryUsage().arrayBuffers
  const sent = request({ host: '127.0.0.1', port: edge.port, method: 'PUT', headers: { host: HOST }, agent: false })
  Readable.from(
    (function* () {
      for (; produced < 50; produced++) yield chunk
    })(),
  ).pipe(sent)
  const buffered = await untilStill(() => produced)
  assert.ok(buffered < 40, `${buffered} MB were sent although the app did not read`)
  assert.ok(process.memoryUsage().arrayBuffers - memoryBefore < 10 * MEGABYTE)
  reading.resolve()
  const expected = createHash('sha256')
  for (let n = 0; n < 50; n++) expected.update(chunk)
  assert.equal((await readAnswer(sent)).text, expected.digest('hex'))
})

test('the first event of a stream arrives while the response goes on, and its headers before any event', async (t) => {
  let push: ((event: string) => void) | undefined
  const upstream = await startUpstream(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    push = (event) => response.write(`data: ${event}\n\n`)
  })
  const edge = await edgeBefore(t, upstream)
  const sent = request({ host: '127.0.0.1', port: edge.port, headers: { host: HOST }, agent: false }).end()
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  for (const event of ['one', 'two']) {
    push?.(event)
    const [data] = await once(received, 'data')
    assert.equal(String(data), `data: ${event}\n\n`)
  }
  sent.destroy()
})

test('event streams do not take the places of other requests', async (t) => {
  const upstream = await startUpstream(t, (asked, response) => {
    if (asked.url !== '/events') return void response.end('page')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
  })
  const edge = await edgeBefore(t, upstream, { requestsPerInstance: 2, waitingPerInstance: 0 })
  for (let n = 0; n < 10; n++) {
    const sent = request({
      host: '127.0.0.1',
      port: edge.port,
      path: '/events',
      headers: { host: HOST },
      agent: false,
    }).end()
    await once(sent, 'response')
    t.after(() => sent.destroy())
  }
  assert.equal((await ask(edge.port)).text, 'page')
})

test('request and response stream at the same time', async (t) => {
  const upstream = await startUpstream(t, (asked, response) => void asked.pipe(response))
  const edge = await edgeBefore(t, upstream)
  const sent = request({ host: '127.0.0.1', port: edge.port, method: 'POST', headers: { host: HOST }, agent: false })
  sent.write('one')
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal(String((await once(received, 'data'))[0]), 'one')
  sent.end('two')
  assert.equal(await text(received), 'two')
})

test('the application decides whether a body is sent that waits for a 100', async (t) => {
  const upstream = await startUpstream(t, async (asked, response) => response.end(await text(asked)))
  upstream.http.on('checkContinue', async (asked, response) => {
    if (asked.url === '/no') return response.writeHead(413).end('too large')
    response.writeContinue()
    response.end(await text(asked))
  })
  const edge = await edgeBefore(t, upstream)
  const head = (path: string) =>
    `PUT ${path} HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`

  const { text: interim, socket } = await askRaw(edge.port, head('/yes'), /\r\n\r\n/)
  assert.match(interim, /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  socket.write('body')
  assert.match(await readRaw(socket, /body$|\r\n0\r\n\r\n$/), /^HTTP\/1\.1 200 OK[\s\S]*body/)
  socket.destroy()

  const { text: refused } = await askRaw(edge.port, head('/no'))
  assert.match(refused, /^HTTP\/1\.1 413 /)
  assert.match(refused, /\r\nConnection: close\r\n/)
})

test('interim responses pass to a client that knows them', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.on('data', () => socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 P\r\n\r\n${OK}`))
  })
  const edge = await edgeBefore(t, upstream)
  const newer = await askRaw(edge.port, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  const interim = /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 102 P\r\n\r\nHTTP\/1\.1 200 OK\r\n/
  assert.match(newer.text, interim)
  const older = await askRaw(edge.port, `GET / HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  assert.match(older.text, /^HTTP\/1\.1 200 OK/)
})

test('an HTTP/1.0 client gets its answer and the end of the connection', async (t) => {
  const upstream = await startUpstream(t, (_, response) => {
    response.write('no length ')
    response.end('is sent')
  })
  const edge = await edgeBefore(t, upstream)
  const { text } = await askRaw(edge.port, `GET / HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  assert.match(text, /\r\n\r\nno length is sent$/)
  assert.doesNotMatch(text, /chunked/)
})

test('responses without a body have none, and the connection serves on', async (t) => {
  const upstream = await startUpstream(t, (asked, response) => {
    const status = Number(asked.url?.slice(1))
    response.writeHead(status, status === 200 ? { 'content-length': 1234 } : { etag: '"a"' })
    response.end()
  })
  const edge = await edgeBefore(t, upstream)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  for (const [method, path, length] of [
    ['HEAD', '/200', '1234'],
    ['GET', '/204', undefined],
    ['GET', '/304', undefined],
    ['HEAD', '/304', undefined],
    ['GET', '/304', undefined],
  ]) {
    const sent = request({ host: '127.0.0.1', port: edge.port, method, path, headers: { host: HOST }, agent }).end()
    const { status, headers, body } = await readAnswer(sent)
    assert.deepEqual([status, headers['content-length'], body.length], [Number(path?.slice(1)), length, 0])
    assert.equal(headers['transfer-encoding'], undefined)
  }
  assert.equal(Object.keys(agent.freeSockets).length, 1)
})

test('connections to the application are used again', async (t) => {
  let connections = 0
  const upstream = await startUpstream(t, (_, response) => response.end('ok'))
  upstream.http.on('connection', () => connections++)
  const edge = await edgeBefore(t, upstream)
  for (let n = 0; n < 20; n++) assert.equal((await ask(edge.port)).text, 'ok')
  assert.equal(connections, 1)
})

test('an application that cannot be reached, sends invalid HTTP or closes the connection leads to a 502', async (t) => {
  const faults: Record<string, string> = {
    hangUp: '',
    nonsense: 'this is not HTTP\r\n\r\n',
    twoLengths: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    tooLarge: `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`,
    halfHead: 'HTTP/1.1 200 OK\r\ncontent-le',
    unaskedUpgrade: 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    strangeStatus: 'HTTP/1.1 000 Zero\r\ncontent-length: 0\r\n\r\n',
    strangeReason: 'HTTP/1.1 200 \x01\r\ncontent-length: 0\r\n\r\n',
  }
  for (const [name, reply] of Object.entries(faults)) {
    const upstream = await startRawUpstream(t, (socket) => {
      socket.once('data', () => socket.end(reply))
    })
    const edge = await edgeBefore(t, upstream)
    for (const method of ['GET', 'POST']) {
      const answer = await ask(edge.port, { method, body: method === 'POST' ? 'body' : '' })
      assert.equal(answer.status, 502, `${method} ${name}: ${answer.text}`)
      assert.match(answer.text, /did not give a valid answer/)
    }
  }
  const gone = await startUpstream(t, () => undefined)
  gone.http.close()
  await once(gone.http, 'close')
  assert.equal((await ask((await edgeBefore(t, gone)).port)).status, 502)
})

test('an application that dies in the middle of its answer never leaves a whole one', async (t) => {
  for (const head of ['content-length: 1000', 'transfer-encoding: chunked']) {
    const upstream = await startRawUpstream(t, (socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n5\r\nhello\r\n`)
        socket.end()
      })
    })
    const edge = await edgeBefore(t, upstream)
    await assert.rejects(ask(edge.port), { code: 'ECONNRESET' }, head)
  }
  const nonsense = await startRawUpstream(t, (socket) => {
    socket.once('data', () =>
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzzz\r\n'),
    )
  })
  await assert.rejects(ask((await edgeBefore(t, nonsense)).port), { code: 'ECONNRESET' })
})

test('an application that does not answer in time costs a 504, and one that takes a long body does not', async (t) => {
  const upstream = await startRawUpstream(t, () => undefined)
  const edge = await edgeBefore(t, upstream, { responseStartMs: 20 })
  assert.equal((await ask(edge.port)).status, 504)
  assert.equal((await ask(edge.port, { method: 'POST', body: 'body' })).status, 504)

  const slow = await startUpstream(t, async (asked, response) => response.end(await text(asked)))
  const other = await edgeBefore(t, slow, { responseStartMs: 1000 })
  const sent = request({ host: '127.0.0.1', port: other.port, method: 'POST', headers: { host: HOST }, agent: false })
  const startTime = performance.now()
  while (performance.now() - startTime < 1500) {
    await new Promise((resolve) => setImmediate(resolve))
    sent.write('.')
  }
  sent.end()
  assert.equal((await readAnswer(sent)).status, 200)
})

/** Answers so many requests on a connection, and closes it when the next one comes. */
const fickle = (answers: number, seen: string[]) => (socket: Socket) => {
  let count = 0
  socket.on('data', (data) => {
    seen.push(String(data).split(' ', 1)[0] ?? '')
    if (count++ < answers) socket.write(OK)
    else socket.destroy()
  })
}

test('a read over a kept connection that turns out to be closed is repeated once on a fresh one', async (t) => {
  const seen: string[] = []
  const edge = await edgeBefore(t, await startRawUpstream(t, fickle(1, seen)))
  assert.equal((await ask(edge.port)).text, 'ok')
  assert.equal((await ask(edge.port)).text, 'ok')
  assert.equal((await ask(edge.port)).text, 'ok')
  assert.equal((await ask(edge.port, { method: 'HEAD' })).status, 200)
  assert.deepEqual(seen.slice(0, 3), ['GET', 'GET', 'GET'])
})

test('what may have had an effect, was answered in part or failed on a fresh connection is not repeated', async (t) => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const seen: string[] = []
    const edge = await edgeBefore(t, await startRawUpstream(t, fickle(1, seen)))
    assert.equal((await ask(edge.port, { method: 'OPTIONS' })).status, 200)
    assert.equal((await ask(edge.port, { method })).status, 502)
    assert.deepEqual(seen, ['OPTIONS', method])
  }
  const seen: string[] = []
  const edge = await edgeBefore(t, await startRawUpstream(t, fickle(1, seen)))
  assert.equal((await ask(edge.port, { method: 'OPTIONS' })).status, 200)
  assert.equal((await ask(edge.port, { headers: { 'content-length': '4' }, body: 'body' })).status, 502)
  assert.equal(seen.length, 2)

  const never: string[] = []
  assert.equal((await ask((await edgeBefore(t, await startRawUpstream(t, fickle(0, never)))).port)).status, 502)
  assert.deepEqual(never, ['GET'])

  let requests = 0
  const half = await startRawUpstream(t, (socket) => {
    socket.on('data', () => {
      if (requests++ === 0) socket.write(OK)
      else socket.end('HTTP/1.1 200')
    })
  })
  const before = await edgeBefore(t, half)
  assert.equal((await ask(before.port)).status, 200)
  assert.equal((await ask(before.port)).status, 502)
  assert.equal(requests, 2)
})

test('a client that goes away takes its request with it: while it waits, uploads or is answered', async (t) => {
  let begun = 0
  let broken = 0
  const upstream = await startUpstream(t, (asked, response) => {
    begun++
    response.once('close', () => broken++)
    asked.resume()
    if (asked.url === '/answer') response.write('some')
  })
  const edge = await edgeBefore(t, upstream)
  for (const head of [
    'GET /wait HTTP/1.1\r\n',
    'POST /upload HTTP/1.1\r\ncontent-length: 1000\r\n',
    'GET /answer HTTP/1.1\r\n',
  ]) {
    const rounds = begun + 1
    const socket = connect(edge.port, '127.0.0.1')
    socket.write(`${head}host: ${HOST}\r\n\r\n`)
    await until(() => begun === rounds)
    if (head.includes('answer')) await once(socket, 'data')
    socket.destroy()
    await until(() => broken === rounds)
  }
  assert.deepEqual(edge.troubles, [])
})

test('an answer that comes before its request is complete is passed on', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.writeHead(403).end('no'))
  const edge = await edgeBefore(t, upstream)
  const { text, socket } = await askRaw(
    edge.port,
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 200000\r\n\r\nthe beginning`,
    /no$|\r\n0\r\n\r\n$/,
  )
  assert.match(text, /^HTTP\/1\.1 403 /)
  // The rest is read and dropped, and the connection goes on.
  socket.write('x'.repeat(200_000 - 'the beginning'.length))
  socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  assert.match(await readRaw(socket, /no$|\r\n0\r\n\r\n$/), /^HTTP\/1\.1 403 /)
  socket.destroy()
})

test('beyond its places requests wait, beyond those that may wait they are refused, and one that leaves makes a place free', async (t) => {
  const waiting: (() => void)[] = []
  const upstream = await startUpstream(t, (_, response) => waiting.push(() => response.end('ok')))
  const edge = await edgeBefore(t, upstream, { requestsPerInstance: 2, waitingPerInstance: 2 })
  const started = () => edge.takeActivity()?.d1 ?? 0
  const served = [ask(edge.port, { path: '/1' }), ask(edge.port, { path: '/2' })]
  await until(() => waiting.length === 2)
  started()
  served.push(ask(edge.port, { path: '/3' }))
  const leaver = connect(edge.port, '127.0.0.1')
  leaver.write(`GET /leaver HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
  // Two that are being answered, and two that wait.
  await until(() => started() === 4)
  assert.equal((await ask(edge.port, { path: '/4' })).status, 503)
  leaver.destroy()
  await until(() => started() === 3)
  served.push(ask(edge.port, { path: '/5' }))
  await until(() => started() === 4)
  assert.equal(waiting.length, 2, 'those that wait have not reached the application')
  for (const answer of waiting.splice(0)) answer()
  await until(() => waiting.length === 2)
  for (const answer of waiting.splice(0)) answer()
  for (const answer of await Promise.all(served)) assert.equal(answer.text, 'ok')
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import {
  type Client,
  connectTo,
  type FastPathServer,
  startFastPathServer,
} from '../../../test/support/edge/fast-path.ts'
import { until } from '../../../test/support/until.ts'
import { toParts } from '../http/wire.ts'
import type { Limits } from '../limits.ts'

const get = (target: string, ...headers: string[]): string =>
  `GET ${target} HTTP/1.1\r\n${['Host: site', ...headers].map((header) => `${header}\r\n`).join('')}\r\n`

const MISSES: RequestListener = (request, response) => {
  request.resume()
  response.end(`node ${request.url}\n`)
}

/** Answers everything below /hit by the fast path. */
async function start(t: TestContext, listener = MISSES, limits: Partial<Limits> = {}, bodyBytes = 0) {
  const answered: string[] = []
  const server = await startFastPathServer(t, {
    listener,
    limits,
    answer({ target }) {
      if (!target.startsWith('/hit')) return undefined
      answered.push(target)
      const body = Buffer.from(`fast ${target}\n`.padEnd(bodyBytes, '.'))
      return toParts(200, ['Content-Length', String(body.length)], body)
    },
  })
  return { ...server, answered }
}

async function connectFor(t: TestContext, server: FastPathServer): Promise<Client> {
  const client = await connectTo(server)
  t.after(() => client.socket.destroy())
  return client
}

/** Who answered what, in order. */
const answersIn = (client: Client): string[] => client.text().match(/(fast|node) \/[\w/]+(?=\n)/g) ?? []

test('a connection goes back and forth between the fast path and node:http', async (t) => {
  const server = await start(t)
  const client = await connectFor(t, server)
  for (const target of ['/hit/1', '/a', '/hit/2', '/b', '/c', '/hit/3']) await client.send(get(target))
  assert.deepEqual(answersIn(client), ['fast /hit/1', 'node /a', 'fast /hit/2', 'node /b', 'node /c', 'fast /hit/3'])
})

test('requests of one packet are answered in their order, by the fast path and by node:http', async (t) => {
  const waiting: (() => void)[] = []
  const server = await start(t, (request, response) => waiting.push(() => response.end(`node ${request.url}\n`)))
  const client = await connectFor(t, server)
  await client.send(get('/hit/1') + get('/hit/2') + get('/a') + get('/hit/3'))
  await client.send(get('/hit/4'))
  assert.deepEqual(answersIn(client), ['fast /hit/1', 'fast /hit/2'])
  // The last first: each waits for the ones before it.
  for (const answer of waiting.reverse()) answer()
  await client.settle()
  await client.send(get('/hit/5'))
  assert.deepEqual(answersIn(client).slice(2), ['node /a', 'node /hit/3', 'node /hit/4', 'fast /hit/5'])
})

test('a request in pieces is read by node:http, wherever it is cut, and the next one by the fast path again', async (t) => {
  const server = await start(t)
  const whole = get('/hit/cut')
  for (let at = 1; at < whole.length; at++) {
    const client = await connectFor(t, server)
    await client.send(whole.slice(0, at))
    await client.send(whole.slice(at))
    await client.send(get('/hit/whole'))
    assert.deepEqual(answersIn(client), ['node /hit/cut', 'fast /hit/whole'], `cut at ${at}`)
    client.socket.destroy()
  }
})

const BODY = get('/hit/body')
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
const post = (...headers: string[]): string => get('/post', ...headers).replace('GET', 'POST')
const WITH_BODY: Record<string, [string, string]> = {
  'a length': [post(`Content-Length: ${BODY.length}`), BODY],
  chunks: [post('Transfer-Encoding: chunked'), CHUNKS],
  'an unknown expectation': [post('Expect: magic', `Content-Length: ${BODY.length}`), BODY],
  'a body of a GET': [get('/post', `Content-Length: ${BODY.length}`), BODY],
  'an upgrade that is not made': [post('Connection: Upgrade', 'Upgrade: x', `Content-Length: ${BODY.length}`), BODY],
}

test('a body is never taken for a request, also when its answer has come before it', async (t) => {
  const server = await start(t)
  for (const [name, [head, body]] of Object.entries(WITH_BODY)) {
    for (const before of ['', get('/hit/before'), get('/before')]) {
      const client = await connectFor(t, server)
      if (before) await client.send(before)
      await client.send(head)
      await client.send(body)
      assert.ok(!client.text().includes('/hit/body'), name)
      await client.send(get('/hit/after'))
      assert.ok(client.isClosed() || answersIn(client).at(-1)?.endsWith('/hit/after'), name)
      client.socket.destroy()
    }
  }
  assert.ok(!server.answered.includes('/hit/body'))
  assert.ok(!server.asked.some(({ url }) => url === '/hit/body'))
})

test('a connection returns to the fast path after a body', async (t) => {
  const server = await start(t)
  const client = await connectFor(t, server)
  await client.send(`${post('Transfer-Encoding: chunked')}${CHUNKS}`)
  await client.send(get('/hit/1'))
  // Whether something began after a body that ends like this only the next request shows.
  await client.send(`${post('Content-Length: 4')}body`)
  await client.send(get('/hit/2'))
  await client.send(get('/hit/3'))
  assert.deepEqual(answersIn(client), ['node /post', 'fast /hit/1', 'node /post', 'node /hit/2', 'fast /hit/3'])
})

test('a large body passes, as fast as it is read', async (t) => {
  const sent = Buffer.alloc(8 * 1024 * 1024, 'x')
  let received = 0
  const server = await start(t, async (request, response) => {
    for await (const chunk of request) {
      received += chunk.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end('node /end\n')
  })
  const client = await connectFor(t, server)
  await client.send(get('/hit/1'))
  await client.send(post(`Content-Length: ${sent.length}`))
  client.socket.write(sent)
  await until(() => client.text().includes('node /end'))
  assert.equal(received, sent.length)
})

test('100-continue, HEAD and an upgrade work on a connection that the fast path has answered', async (t) => {
  const server = await start(t, (request, response) => {
    if (request.headers.expect) response.writeContinue()
    request.resume().once('end', () => response.end(`node ${request.url}\n`))
    if (request.method === 'HEAD') response.end()
  })
  const client = await connectFor(t, server)
  await client.send(get('/hit/1'))
  await client.send(post('Expect: 100-continue', 'Content-Length: 4'))
  await client.send('body')
  await client.send(get('/x').replace('GET', 'HEAD'))
  assert.match(client.text(), /HTTP\/1\.1 100 Continue.*node \/post.*HTTP\/1\.1 200 OK.*\r\n\r\n$/s)
  await client.send(get('/socket', 'Connection: Upgrade', 'Upgrade: echo'))
  assert.match(client.text(), /HTTP\/1\.1 101 Switching Protocols/)
  const before = client.text().length
  await client.send(get('/hit/echo'))
  assert.equal(client.text().slice(before), get('/hit/echo'))
})

test('a client that asks for much and reads nothing is answered as far as it reads', async (t) => {
  const bodyBytes = 256 * 1024
  const server = await start(t, MISSES, {}, bodyBytes)
  const client = await connectFor(t, server)
  client.socket.pause()
  const targets = Array.from({ length: 100 }, (_, n) => `/hit/${n}`)
  client.socket.write(targets.map((target) => get(target)).join(''))
  await until(() => client.peer.isPaused())
  await client.settle()
  const max = server.answered.length
  // What the two kernels' buffers hold, and one answer beyond.
  assert.ok(max < targets.length / 2, `${max} answers were made`)
  assert.ok(client.peer.writableLength <= 2 * bodyBytes)
  client.socket.resume()
  await until(() => client.text().length > targets.length * bodyBytes)
  await client.settle()
  assert.deepEqual(
    answersIn(client),
    targets.map((target) => `fast ${target}`),
  )
})

test('the rest of a packet, once the client has read its response, may be for node:http', async (t) => {
  const bodyBytes = 4 * 1024 * 1024
  const waiting: (() => void)[] = []
  const server = await start(
    t,
    (request, response) => {
      // Only the first can be sent, and so many that wait for it make node:http stop reading.
      response.write('x'.repeat(50_000))
      waiting.push(() => response.end(`node ${request.url}\n`))
    },
    {},
    bodyBytes,
  )
  const client = await connectFor(t, server)
  client.socket.pause()
  client.socket.write(get('/hit/1') + get('/hit/2') + get('/a').repeat(5))
  await until(() => client.peer.isPaused())
  client.socket.resume()
  await until(() => waiting.length === 5)
  client.socket.write(get('/b'))
  await client.settle()
  for (let n = 0; n < 6; n++) {
    await until(() => waiting.length > n)
    waiting[n]?.()
  }
  await until(() => answersIn(client).length === 8)
  assert.deepEqual(answersIn(client), ['fast /hit/1', 'fast /hit/2', ...Array(5).fill('node /a'), 'node /b'])
})

test('each client gets its own bytes, also while others do not take theirs', async (t) => {
  const letters = [...'abc']
  const server = await startFastPathServer(t, {
    listener: MISSES,
    answer({ target }) {
      const body = Buffer.alloc(40_000, target.slice(1))
      return toParts(200, ['Content-Length', String(body.length)], body)
    },
  })
  const clients: Client[] = []
  for (const _ of letters) clients.push(await connectFor(t, server))
  for (const client of clients) client.socket.pause()
  const max = 500
  for (const [n, { socket }] of clients.entries()) socket.write(get(`/${letters[n]}`).repeat(max))
  await until(() => clients.every(({ peer }) => peer.isPaused()))
  for (const { socket } of clients) socket.resume()
  for (const [n, client] of clients.entries()) {
    await until(() => client.text().length > max * 40_000)
    await client.settle()
    const bodies = client.text().split(/HTTP.*?\r\n\r\n/s)
    assert.equal(bodies.length, max + 1)
    assert.ok(bodies.slice(1).every((body) => body === (letters[n] as string).repeat(40_000)))
  }
})

test('a client that never reads is disconnected', async (t) => {
  const server = await start(t, MISSES, { stalledClientMs: 200 }, 8 * 1024 * 1024)
  const client = await connectFor(t, server)
  client.socket.pause()
  client.socket.write(get('/hit/1'))
  await until(() => client.peer.destroyed)
})

test('a client that ends its side gets its response, and then the end of the connection', async (t) => {
  const server = await start(t)
  const client = await connectFor(t, server)
  client.socket.end(get('/hit/1'))
  await until(client.isClosed)
  assert.deepEqual(answersIn(client), ['fast /hit/1'])
  await until(() => client.peer.destroyed)
})

test('an error in the answering function is reported, and node:http answers', async (t) => {
  const fault = new Error('no')
  const server = await startFastPathServer(t, {
    listener: MISSES,
    answer() {
      throw fault
    },
  })
  const client = await connectFor(t, server)
  await client.send(get('/hit'))
  assert.deepEqual(answersIn(client), ['node /hit'])
  assert.deepEqual(server.troubles, [fault])
})

test('when the fast path closes, idle connections end, and a request that comes meanwhile is for node:http', async (t) => {
  let finish: (() => void) | undefined
  const server = await start(t, (request, response) => {
    response.shouldKeepAlive = false
    if (request.url === '/slow') finish = () => response.end('node /slow\n')
    else response.end(`node ${request.url}\n`)
  })
  const fresh = await connectFor(t, server)
  const kept = await connectFor(t, server)
  const mixed = await connectFor(t, server)
  const busy = await connectFor(t, server)
  const begun = await connectFor(t, server)
  await kept.send(get('/hit/1'))
  await mixed.send(get('/hit/1'))
  await busy.send(get('/slow'))
  await begun.send(get('/hit/2').slice(0, 10))

  server.close()
  await mixed.send(get('/hit/3'))
  assert.deepEqual(answersIn(mixed), ['fast /hit/1', 'node /hit/3'])
  const closed = once(server.http, 'close')
  server.http.close()
  await until(() => fresh.isClosed() && kept.isClosed() && mixed.isClosed())
  assert.ok(!busy.isClosed() && !begun.isClosed())
  finish?.()
  await begun.send(get('/hit/2').slice(10))
  await closed
  assert.deepEqual([answersIn(busy), answersIn(begun)], [['node /slow'], ['node /hit/2']])
})

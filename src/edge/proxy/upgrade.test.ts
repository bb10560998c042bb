import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  askRaw,
  edgeBefore,
  HOST,
  readRaw,
  serverTarget,
  startRawUpstream,
  startTestEdge,
  startUpstream,
  untilStill,
} from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'
import type { Target } from '../routes.ts'

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
/** RFC 6455, section 1.3. */
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='

const handshake = (path = '/', more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n${more}\r\n`

/** Agrees to every handshake, and sends back what it gets. */
async function startEcho(t: TestContext) {
  const sockets: Socket[] = []
  const heads: string[][] = []
  const { http, port } = await startUpstream(t, (_, response) => response.end('page'))
  http.on('upgrade', (asked, socket, head) => {
    sockets.push(socket as Socket)
    heads.push(asked.rawHeaders)
    socket.on('error', () => undefined)
    const key = asked.headers['sec-websocket-key'] ?? ''
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\nSet-Cookie: a=1\r\n\r\n`,
    )
    if (head.length > 0) socket.write(head)
    socket.pipe(socket)
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { port, sockets, heads }
}

test('a WebSocket handshake is forwarded, and so is everything after it, both ways', async (t) => {
  const echo = await startEcho(t)
  const edge = await edgeBefore(t, echo)
  const { text, socket } = await askRaw(edge.port, handshake('/socket?x=1', 'X-Forwarded-For: 6.6.6.6\r\n'), /\r\n\r\n/)
  assert.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  assert.match(text, new RegExp(`\r\nSec-WebSocket-Accept: ${ACCEPT.replace('+', '\\+')}\r\n`))
  assert.match(text, /\r\nSet-Cookie: a=1\r\n/)
  for (const message of ['one', 'two', 'x'.repeat(100_000)]) {
    const answer = readRaw(socket, /\.$/)
    socket.write(`${message}.`)
    assert.equal(await answer, `${message}.`)
  }
  const [head = []] = echo.heads
  assert.deepEqual(
    head.filter((_, index) => head[index - 1]?.toLowerCase() === 'x-forwarded-for'),
    ['127.0.0.1'],
  )
  assert.equal(head.filter((name) => name.toLowerCase() === 'connection').length, 1)
  socket.destroy()
})

test('what the client sends with its handshake arrives after it', async (t) => {
  const edge = await edgeBefore(t, await startEcho(t))
  const { text, socket } = await askRaw(edge.port, `${handshake()}early`, /early$/)
  assert.match(text, /\r\n\r\nearly$/)
  socket.destroy()
})

test('both ends close when one does', async (t) => {
  const echo = await startEcho(t)
  const edge = await edgeBefore(t, echo)
  for (const end of ['destroy', 'end', 'resetAndDestroy'] as const) {
    const { socket: client } = await askRaw(edge.port, handshake(), /\r\n\r\n/)
    const upstream = echo.sockets.at(-1)
    client[end]()
    await until(() => upstream?.closed === true)

    const { socket: other } = await askRaw(edge.port, handshake(), /\r\n\r\n/)
    const closed = readRaw(other)
    echo.sockets.at(-1)?.write('bye')
    echo.sockets.at(-1)?.[end]()
    const last = await closed
    if (end === 'end') assert.equal(last, 'bye', 'what was on its way is delivered')
  }
  await until(() => edge.takeActivity() === undefined)
})

test('neither side is read faster than the other side reads', async (t) => {
  const sink = await startRawUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.pause()
      socket.write('HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    })
  })
  const edge = await edgeBefore(t, sink)
  const { socket } = await askRaw(edge.port, handshake(), /\r\n\r\n/)
  const before = process.memoryUsage().arrayBuffers
  const chunk = Buffer.alloc(1024 * 1024)
  for (let n = 0; n < 40; n++) socket.write(chunk)
  await untilStill(() => socket.bytesWritten - socket.writableLength)
  assert.ok(socket.writableLength > 0, 'the sender has to wait')
  assert.ok(process.memoryUsage().arrayBuffers - before < 10 * 1024 * 1024)
  socket.destroy()
})

test('an upgrade that the application refuses is answered, and opens no raw connection to it', async (t) => {
  let text = ''
  const refusing = await startRawUpstream(t, (socket) => {
    socket.on('data', (data) => {
      text += data
      if (text.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 403 Forbidden\r\nX-Why: no\r\nContent-Length: 2\r\n\r\nno')
    })
  })
  const edge = await edgeBefore(t, refusing)
  const smuggled = `GET /admin HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n`
  const { text: answer } = await askRaw(edge.port, handshake() + smuggled)
  assert.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n/)
  assert.match(answer, /\r\nX-Why: no\r\n/)
  assert.match(answer, /\r\n\r\nno$/)
  assert.doesNotMatch(text, /admin/)
})

test('HTTP/2 and requests with a body are not upgraded, but answered', async (t) => {
  const echo = await startEcho(t)
  const edge = await edgeBefore(t, echo)
  for (const text of [
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nhi`,
  ]) {
    const { text: answer, socket } = await askRaw(edge.port, text, /page/)
    assert.match(answer, /^HTTP\/1\.1 200 OK/)
    socket.destroy()
  }
  assert.equal(echo.sockets.length, 0)
})

test('an upgrade where there is nothing to upgrade to is an ordinary request', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: { kind: 'empty', environment: 'e1' } })
  const { text, socket } = await askRaw(edge.port, handshake(), /<\/html>/)
  assert.match(text, /^HTTP\/1\.1 404 Not Found\r\n[\s\S]*Nothing deployed yet/)
  socket.destroy()
})

test('an application that is not there, hangs up, is silent or has too many connections costs a page', async (t) => {
  const hangingUp = await startRawUpstream(t, (socket) => {
    socket.once('data', () => socket.destroy())
  })
  assert.match((await askRaw((await edgeBefore(t, hangingUp)).port, handshake())).text, /^HTTP\/1\.1 502 /)

  const gone = await startUpstream(t, () => undefined)
  await new Promise((resolve) => gone.http.close(resolve))
  assert.match((await askRaw((await edgeBefore(t, gone)).port, handshake())).text, /^HTTP\/1\.1 502 /)

  const silent = await startRawUpstream(t, () => undefined)
  const withTimeout = await edgeBefore(t, silent, { responseStartMs: 20 })
  assert.match((await askRaw(withTimeout.port, handshake())).text, /^HTTP\/1\.1 504 /)

  const crowded = await edgeBefore(t, await startEcho(t), { streamsPerInstance: 1 })
  const { socket } = await askRaw(crowded.port, handshake(), /\r\n\r\n/)
  assert.match((await askRaw(crowded.port, handshake())).text, /^HTTP\/1\.1 503 /)
  socket.destroy()
  await until(() => crowded.takeActivity() === undefined)
  const { text, socket: next } = await askRaw(crowded.port, handshake(), /\r\n\r\n/)
  assert.match(text, /^HTTP\/1\.1 101 /)
  next.destroy()
})

test('an open connection is in flight: it is counted in each report, and a drain waits for it and then ends it', async (t) => {
  const echo = await startEcho(t)
  const edge = await edgeBefore(t, echo)
  const { socket } = await askRaw(edge.port, handshake(), /\r\n\r\n/)
  for (let report = 0; report < 3; report++) assert.deepEqual(edge.takeActivity(), { d1: 1 })

  edge.use({})
  let isDrained = false
  const drained = edge.drain('i1', 50).then(() => {
    isDrained = true
  })
  const answer = readRaw(socket, /still here/)
  socket.write('still here')
  assert.equal(await answer, 'still here')
  assert.equal(isDrained, false)
  const closed = once(socket, 'close')
  await drained
  await closed
  await until(() => echo.sockets.every(({ closed }) => closed))
})

test('a handshake that meets a sleeping deployment waits for it', async (t) => {
  const echo = await startEcho(t)
  const woken: string[] = []
  const asleep: Target = { kind: 'asleep', environment: 'e1', deployment: 'd1' }
  const edge = await startTestEdge(t, { [HOST]: asleep }, { wake: (deployment) => woken.push(deployment) })
  const socket = connect(edge.port, '127.0.0.1')
  socket.write(`${handshake()}early`)
  await until(() => woken.length === 1)
  edge.use({ [HOST]: serverTarget(echo.port) })
  assert.match(await readRaw(socket, /early$/), /^HTTP\/1\.1 101 /)
  socket.destroy()

  edge.use({ [HOST]: asleep })
  const other = connect(edge.port, '127.0.0.1')
  other.write(handshake())
  await until(() => woken.length === 2)
  edge.use({ [HOST]: { kind: 'down', environment: 'e1', deployment: 'd1' } })
  assert.match(await readRaw(other), /^HTTP\/1\.1 503 /)
})

test('one environment that holds all connections without an end leaves a few to every other', async (t) => {
  const echo = await startEcho(t)
  const other = { ...serverTarget(echo.port, 'i2', 'd2'), environment: 'e2' }
  const hosts = { [HOST]: serverTarget(echo.port), 'other.localhost': other }
  const edge = await startTestEdge(t, hosts, { limits: { streams: 5, streamsReserved: 2 } })
  const shake = (text = handshake()) => askRaw(edge.port, text, /\r\n\r\n/)
  const open: Socket[] = []
  for (let n = 0; n < 5; n++) open.push((await shake()).socket)
  assert.match((await shake()).text, /^HTTP\/1\.1 503 /)
  const ofOther = handshake().replace(HOST, 'other.localhost')
  for (let n = 0; n < 2; n++) {
    const { text, socket } = await shake(ofOther)
    assert.match(text, /^HTTP\/1\.1 101 /)
    open.push(socket)
  }
  assert.match((await shake(ofOther)).text, /^HTTP\/1\.1 503 /)
  for (const socket of open) socket.destroy()
  await until(() => echo.sockets.every((socket) => socket.closed))
  const { text, socket } = await shake()
  assert.match(text, /^HTTP\/1\.1 101 /, 'what was given back is there again')
  socket.destroy()
})

/** Attacks on HTTP/2 servers that are known by a name. Each ends with the connection, and other visitors are served meanwhile. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { send } from '../../../test/support/edge/cache.ts'
import { FLAG, FRAME, frame, getHead, literal, number, openFrames } from '../../../test/support/edge/http2-frames.ts'
import { askHttp2, openHttp2, type SecureApp, secureApp } from '../../../test/support/edge/secure.ts'
import { until } from '../../../test/support/until.ts'
import type { Limits } from '../limits.ts'

const slowApp = (t: TestContext, limits: Partial<Limits> = {}) =>
  secureApp(t, (request, response) => void (request.url === '/quick' && send(response, {})), limits)

async function assertServes(t: TestContext, app: SecureApp) {
  const session = await openHttp2(t, app)
  assert.equal((await askHttp2(session, { ':path': '/quick' })).status, 200)
}

const REFUSED_STREAM = 7
const END = FLAG.endHeaders | FLAG.endStream

test('rapid reset: streams that are opened and reset at once end the connection, and the app is asked for few', async (t) => {
  const app = await slowApp(t, { streamResets: 100 })
  const { socket, closed } = await openFrames(t, app.securePort)
  socket.resume()
  for (let n = 0; n < 5000 && !socket.destroyed; n++) {
    const stream = 2 * n + 1
    socket.write(frame(FRAME.headers, END, stream, getHead('/')))
    socket.write(frame(FRAME.reset, 0, stream, number(8)))
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await closed
  assert.ok(app.asked.length < 1000, `${app.asked.length} requests`)
  await assertServes(t, app)
})

test('a flood of CONTINUATION frames ends the connection', async (t) => {
  const app = await slowApp(t)
  const { socket, closed } = await openFrames(t, app.securePort)
  socket.resume()
  socket.write(frame(FRAME.headers, FLAG.endStream, 1, getHead('/')))
  for (let n = 0; n < 10_000 && !socket.destroyed; n++) {
    socket.write(frame(FRAME.continuation, 0, 1, literal('x', 'y')))
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await closed
  await assertServes(t, app)
})

test('a header bomb, small when compressed, is not passed on', async (t) => {
  const app = await slowApp(t)
  const { socket } = await openFrames(t, app.securePort)
  // One long header is put into the table, and then named a thousand times by one byte each.
  const long = 'v'.repeat(3000)
  const entry = Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('x'), sizeOf(long.length), Buffer.from(long)])
  const bomb = Buffer.concat([getHead('/'), entry, Buffer.alloc(1000, 0x80 | 62)])
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('hex')))
  socket.write(frame(FRAME.headers, END, 1, bomb))
  // Either a reset of stream 1, or the end of the connection.
  await until(() => socket.destroyed || answer.includes('00000403000000000100'))
  assert.equal(app.asked.length, 0)
  await assertServes(t, app)
})

/** A length in HPACK, with a prefix of 7 bits (RFC 7541, section 5.1). */
function sizeOf(length: number): Buffer {
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  bytes.push(rest)
  return Buffer.from(bytes)
}

for (const [name, flood] of Object.entries({
  SETTINGS: frame(FRAME.settings, 0, 0),
  PING: frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
})) {
  test(`a flood of ${name} frames whose answers are not read ends the connection`, async (t) => {
    const app = await slowApp(t)
    const { socket, closed } = await openFrames(t, app.securePort)
    socket.pause()
    const many = Buffer.concat(Array.from({ length: 1000 }, () => flood))
    for (let n = 0; n < 2000 && !socket.destroyed; n++) {
      if (!socket.write(many)) await Promise.race([once(socket, 'drain'), closed])
      // The end of a connection is seen only by reading.
      if (n > 100) socket.resume()
    }
    await closed
    await assertServes(t, app)
  })
}

test('streams beyond the limit of a connection are refused', async (t) => {
  const app = await slowApp(t, { streamsPerConnection: 10 })
  const { socket } = await openFrames(t, app.securePort)
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('hex')))
  for (let n = 0; n < 11; n++) socket.write(frame(FRAME.headers, END, 2 * n + 1, getHead(`/${n}`)))
  // RST_STREAM of stream 21 with REFUSED_STREAM.
  await until(() => answer.includes(frame(FRAME.reset, 0, 21, number(REFUSED_STREAM)).toString('hex')))
  await until(() => app.asked.length === 10)
})

test('a client that reads nothing loses its streams', async (t) => {
  const app = await secureApp(
    t,
    (_, response) => send(response, { 'cache-control': 'max-age=60' }, 'x'.repeat(500_000)),
    {
      stalledClientMs: 300,
    },
  )
  const session = await openHttp2(t, app)
  await askHttp2(session)
  // A window of zero bytes for each stream.
  const { socket } = await openFrames(t, app.securePort, { settings: Buffer.from([0, 4, 0, 0, 0, 0]) })
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('hex')))
  socket.write(frame(FRAME.headers, END, 1, getHead('/')))
  await until(() => answer.includes('000004030000000001') || socket.destroyed)
})

test('a client that stops in the middle of a body loses its stream', async (t) => {
  const app = await secureApp(t, (request) => void request.resume(), { stalledClientMs: 300 })
  const { socket } = await openFrames(t, app.securePort)
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('hex')))
  socket.write(frame(FRAME.headers, FLAG.endHeaders, 1, getHead('/')))
  socket.write(frame(FRAME.data, 0, 1, Buffer.from('half')))
  await until(() => answer.includes('000004030000000001') || socket.destroyed)
})

test('a connection that opens no stream is closed', async (t) => {
  // Long enough for the handshake on a busy machine.
  const app = await slowApp(t, { requestHeadMs: 2000, clientSweepMs: 50 })
  const { closed, socket } = await openFrames(t, app.securePort)
  socket.resume()
  await closed
})

import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import {
  ask,
  askRaw,
  edgeBefore,
  HOST,
  readAnswer,
  readRaw,
  serverTarget,
  startTestEdge,
  startUpstream,
} from '../../test/support/edge/edge.ts'
import { until } from '../../test/support/until.ts'

test('hosts are found whatever their case, port and last dot, and each target has its page', async (t) => {
  const edge = await startTestEdge(t, {
    [HOST]: { kind: 'empty', environment: 'e1' },
    'down.localhost': { kind: 'down', environment: 'e1', deployment: 'd' },
  })
  for (const host of [HOST, 'SITE.localhost', `${HOST}:8080`, `${HOST}.`, `${HOST}.:80`]) {
    const { status, text } = await ask(edge.port, { host })
    assert.deepEqual([status, /Nothing deployed yet/.test(text)], [404, true], host)
  }
  for (const host of ['unknown', '', `${HOST}@unknown`, `unknown, ${HOST}`, '__proto__', `${HOST}/`]) {
    const { status, text } = await ask(edge.port, { host })
    assert.deepEqual([status, /There is no site/.test(text)], [404, true], host)
  }
  const down = await ask(edge.port, { host: 'down.localhost', headers: { accept: 'application/json' } })
  assert.equal(down.status, 503)
  assert.equal(down.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(down.headers['cache-control'], 'no-store')
  assert.equal((await ask(edge.port, { host: 'down.localhost', method: 'HEAD' })).body.length, 0)
})

test('garbage after a request never becomes part of its response', async (t) => {
  let finish: (() => void) | undefined
  const upstream = await startUpstream(t, (_, response) => {
    response.writeHead(200, { 'content-length': 1000 })
    response.write('begun')
    finish = () => response.end('x'.repeat(995))
  })
  const edge = await edgeBefore(t, upstream)
  const { socket } = await askRaw(edge.port, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, /begun$/)
  const rest = readRaw(socket)
  socket.write('nonsense\r\n\r\n')
  finish?.()
  assert.doesNotMatch(await rest, /HTTP|nonsense/)
})

test('a client that does not read what it asked for is let go', async (t) => {
  let isBroken = false
  const upstream = await startUpstream(t, (_, response) => {
    response.once('close', () => {
      isBroken = true
    })
    for (let n = 0; n < 64; n++) response.write(Buffer.alloc(1024 * 1024))
  })
  const edge = await edgeBefore(t, upstream, { stalledClientMs: 300 })
  const socket = connect(edge.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await until(() => isBroken)
  socket.destroy()
})

test('a client that stops in the middle of its body is disconnected, one that waits for a silent app is not', async (t) => {
  const upstream = await startUpstream(t, (asked, response) => {
    if (asked.url === '/silence') edge.http.once('timeout', () => response.end('at last'))
  })
  const edge = await edgeBefore(t, upstream, { stalledClientMs: 300 })
  const { text } = await askRaw(edge.port, `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 5\r\n\r\nhal`)
  assert.equal(text, '')
  assert.equal((await ask(edge.port, { path: '/silence' })).text, 'at last')
})

test('when the edge stops, requests end, kept connections are closed and pending requests are refused', async (t) => {
  let answer: (() => void) | undefined
  const upstream = await startUpstream(t, (_, response) => {
    answer = () => response.end('ok')
  })
  let wakes = 0
  const edge = await startTestEdge(
    t,
    {
      [HOST]: serverTarget(upstream.port),
      'asleep.localhost': { kind: 'asleep', environment: 'e1', deployment: 'd2' },
    },
    { wake: () => wakes++ },
  )
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const sent = request({ host: '127.0.0.1', port: edge.port, headers: { host: HOST }, agent }).end()
  const pending = ask(edge.port, { host: 'asleep.localhost' })
  await until(() => answer !== undefined && wakes === 1)
  const stopped = edge.stop()
  assert.equal((await pending).status, 503)
  answer?.()
  assert.equal((await readAnswer(sent)).text, 'ok')
  await stopped
  await assert.rejects(ask(edge.port), { code: 'ECONNREFUSED' })
})

test('an edge that is replaced answers on connections that are kept, and closes each with its next response', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end('ok'))
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const visit = () => readAnswer(request({ host: '127.0.0.1', port: edge.port, headers: { host: HOST }, agent }).end())
  assert.equal((await visit()).headers.connection, 'keep-alive')
  const retired = edge.retire()
  const last = await visit()
  assert.equal(last.text, 'ok')
  assert.equal(last.headers.connection, 'close')
  await retired
  await assert.rejects(ask(edge.port), { code: 'ECONNREFUSED' })
})

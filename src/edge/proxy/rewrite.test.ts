/** Rewrites of static sites to other hosts: sent on as they are, within limits, and only where the operator allows it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  ask,
  HOST,
  startRawUpstream,
  startTestEdge,
  startUpstream,
  untilStill,
} from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import type { Limits } from '../limits.ts'
import { compileRules } from '../rules/compile.ts'
import { createManifest, writeManifest } from '../static/manifest.ts'

type Way = { limits?: Partial<Limits>; isAllowed?: boolean; rule?: string }

/** A site whose /api/ leads to a port of this machine. */
async function startSite(t: TestContext, port: number, { limits = {}, isAllowed = true, rule }: Way = {}) {
  const [folder, variants] = [await temporaryFolder(t), await temporaryFolder(t)]
  await writeFile(join(folder, 'index.html'), 'home')
  const host = `127.0.0.1:${port}`
  const texts = {
    _redirects: rule ?? `/api/* http://${host}/v1/:splat 200`,
    _headers: '/*\n X-Own: 1',
  }
  const { rules, warnings } = compileRules({ texts, basePath: '', allowedHosts: [host] })
  assert.deepEqual(warnings, [])
  const manifest = await writeManifest(variants, await createManifest(folder, variants, { singlePage: false, rules }))
  const target = { kind: 'static', environment: 'e1', deployment: 'd1', folder, manifest } as const
  const edge = await startTestEdge(t, { [HOST]: target }, { limits })
  if (isAllowed) edge.allowRewrites([host])
  return edge
}

test('method, path, query, body and answer pass, and headers as an app gets them', async (t) => {
  const seen: IncomingMessage[] = []
  const upstream = await startUpstream(t, async (asked, response) => {
    seen.push(asked)
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk)
    response.writeHead(201, {
      'content-type': 'text/plain',
      'set-cookie': 'session=1',
      'cache-control': 's-maxage=600',
      'keep-alive': 'timeout=99',
      'proxy-authenticate': 'Basic',
      connection: 'x-hop',
      'x-hop': '1',
    })
    response.end(`${asked.method} ${asked.url} ${Buffer.concat(chunks)}`)
  })
  const edge = await startSite(t, upstream.port)
  const sent = { path: '/api/a%20b?x=1', method: 'POST', body: 'hello' }
  const headers = {
    cookie: 'a=1',
    authorization: 'Bearer t',
    te: 'gzip',
    'x-forwarded-for': '6.6.6.6',
    'proxy-authorization': 'Basic x',
    connection: 'close, x-mine',
    'x-mine': '1',
  }
  const answer = await ask(edge.port, { ...sent, headers })
  assert.deepEqual([answer.status, answer.text], [201, 'POST /v1/a%20b?x=1 hello'])
  assert.equal(answer.headers['set-cookie']?.[0], 'session=1')
  assert.equal(answer.headers['cache-status'], 'headland; fwd=bypass; detail=rewrite')
  assert.equal(answer.headers['x-own'], undefined, 'headers of rules are for files')
  for (const name of ['x-hop', 'proxy-authenticate']) assert.equal(answer.headers[name], undefined, name)
  const [first] = seen
  assert.equal(first?.headers.host, `127.0.0.1:${upstream.port}`)
  assert.equal(first?.headers['x-forwarded-host'], HOST)
  assert.equal(first?.headers['x-forwarded-for'], '127.0.0.1')
  assert.equal(first?.headers.via, '1.1 headland')
  assert.deepEqual([first?.headers.cookie, first?.headers.authorization], ['a=1', 'Bearer t'])
  for (const name of ['te', 'proxy-authorization', 'x-mine']) assert.equal(first?.headers[name], undefined, name)

  // Nothing is stored, although the answer allows it.
  await ask(edge.port, { path: '/api/a' })
  await ask(edge.port, { path: '/api/a' })
  assert.equal(seen.length, 3)
  assert.equal((await ask(edge.port, { path: '/' })).text, 'home')
  assert.deepEqual(edge.troubles, [])
})

test('without the setting of the operator nothing is sent, also for a rule that was allowed when it was built', async (t) => {
  let requests = 0
  const upstream = await startUpstream(t, (_, response) => {
    requests++
    response.end()
  })
  const edge = await startSite(t, upstream.port, { isAllowed: false })
  const answer = await ask(edge.port, { path: '/api/x' })
  assert.deepEqual([answer.status, requests], [502, 0])
  assert.match(answer.text, /does not allow/)
  edge.allowRewrites(['127.0.0.1', '*.0.0.1', `localhost:${upstream.port}`])
  assert.equal((await ask(edge.port, { path: '/api/x' })).status, 502, 'another port, another name')
})

test('a body comes and goes as a stream, at the pace of the slower side', async (t) => {
  const piece = randomBytes(1024 * 1024)
  let produced = 0
  const upstream = await startUpstream(t, (asked, response) => {
    if (asked.method === 'PUT') return void asked.pipe(response)
    const more = () => {
      while (produced < 50) {
        produced++
        if (!response.write(piece)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const edge = await startSite(t, upstream.port)
  const sent = request({ host: '127.0.0.1', port: edge.port, path: '/api/big', headers: { host: HOST }, agent: false })
  sent.end()
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  const buffered = await untilStill(() => produced)
  assert.ok(buffered < 40, `${buffered} MB were produced although the client did not read`)
  let bytes = 0
  for await (const chunk of received) bytes += chunk.length
  assert.equal(bytes, 50 * piece.length)
  const echoed = await ask(edge.port, { path: '/api/echo', method: 'PUT', body: piece })
  assert.ok(echoed.body.equals(piece))
})

test('a host that is down, late, silent or breaks off costs a page or the connection, and never the edge', async (t) => {
  const dead = await startRawUpstream(t, (socket) => socket.destroy())
  assert.equal((await ask((await startSite(t, dead.port)).port, { path: '/api/x' })).status, 502)

  const late = await startRawUpstream(t, () => undefined)
  const hasty = await startSite(t, late.port, { limits: { responseStartMs: 50 } })
  assert.equal((await ask(hasty.port, { path: '/api/x' })).status, 504)

  const garbage = await startRawUpstream(t, (socket) => socket.end('garbage\r\n\r\n'))
  assert.equal((await ask((await startSite(t, garbage.port)).port, { path: '/api/x' })).status, 502)

  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'
  const half = await startRawUpstream(t, (socket) => socket.once('data', () => socket.end(HEAD)))
  await assert.rejects(ask((await startSite(t, half.port)).port, { path: '/api/x' }))

  const silent = await startRawUpstream(t, (socket) => socket.once('data', () => socket.write(HEAD)))
  const impatient = await startSite(t, silent.port, { limits: { rewriteIdleMs: 50 } })
  await assert.rejects(ask(impatient.port, { path: '/api/x' }))
  assert.equal((await ask(impatient.port, { path: '/' })).text, 'home')
  assert.deepEqual(impatient.troubles, [])
})

test('a GET on a kept connection that the other host has closed is sent again', async (t) => {
  let connections = 0
  const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const upstream = await startRawUpstream(t, (socket) => {
    connections++
    // The first connection answers once, and is reset by the second request.
    let requests = 0
    const isFirst = connections === 1
    socket.on('data', () => (isFirst && ++requests > 1 ? socket.resetAndDestroy() : socket.write(OK)))
  })
  const edge = await startSite(t, upstream.port)
  assert.equal((await ask(edge.port, { path: '/api/a' })).text, 'ok')
  assert.equal((await ask(edge.port, { path: '/api/b' })).text, 'ok')
  assert.equal(connections, 2)
})

test('an environment has so many requests under way, and a client that leaves ends its own', async (t) => {
  const open = new Set<IncomingMessage>()
  const upstream = await startUpstream(t, (asked, response) => {
    open.add(asked)
    asked.socket.once('close', () => open.delete(asked))
    response.write('beginning')
  })
  const edge = await startSite(t, upstream.port, { limits: { rewritesPerEnvironment: 2 } })
  const waiting = [1, 2].map(() =>
    request({ host: '127.0.0.1', port: edge.port, path: '/api/x', headers: { host: HOST }, agent: false }).end(),
  )
  await Promise.all(waiting.map((sent) => once(sent, 'response')))
  assert.equal((await ask(edge.port, { path: '/api/x' })).status, 503)
  for (const sent of waiting) sent.destroy()
  await until(() => open.size === 0)
  const third = request({ host: '127.0.0.1', port: edge.port, path: '/api/x', headers: { host: HOST }, agent: false })
  third.end()
  const [received] = (await once(third, 'response')) as [IncomingMessage]
  assert.equal(received.statusCode, 200)
  third.destroy()
})

test('a rewrite that leads back to the edge ends', async (t) => {
  let port = 0
  const front = await startUpstream(t, (asked, response) => {
    // As a proxy in front of the edge: the name of the site is set again.
    const headers = { ...asked.headers, host: HOST }
    request({ host: '127.0.0.1', port, path: '/api/again', headers, agent: false }, (received) => {
      response.writeHead(received.statusCode ?? 0)
      received.pipe(response)
    }).end()
  })
  const edge = await startSite(t, front.port)
  port = edge.port
  assert.equal((await ask(edge.port, { path: '/api/x' })).status, 508)
})

test('a WebSocket of a static site is refused, also on a path that is rewritten', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end())
  const edge = await startSite(t, upstream.port)
  const answer = await ask(edge.port, {
    path: '/api/socket',
    headers: { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x', 'sec-websocket-version': '13' },
  })
  assert.notEqual(answer.status, 101)
})

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  ask,
  askRaw,
  HOST,
  readRaw,
  serverTarget,
  startRawUpstream,
  startTestEdge,
  startUpstream,
  type TestEdge,
} from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import type { Target } from '../routes.ts'
import { createManifest, writeManifest } from '../static/manifest.ts'
import { type RequestRecord, readTarget } from './record.ts'

const CLOSE = 'Connection: close\r\n'
const get = (path: string, more = CLOSE) => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${more}\r\n`

/** The records so far, in the order of their times. */
function recording(edge: TestEdge) {
  edge.recordRequests()
  const all: RequestRecord[] = []
  return (count: number): Promise<RequestRecord[]> =>
    until(() => {
      all.push(...(edge.takeRequests()?.e1 ?? []))
      return all.length >= count && all
    }, `${count} requests are recorded`)
}

const short = ({ method, path, status, cache, outcome }: RequestRecord) => [method, path, status, cache, outcome]

for (const hasFastPath of [true, false]) {
  const by = hasFastPath ? 'with the fast path' : 'by node:http alone'

  test(`each answer of an app is recorded with its status, its cache result and its bytes, ${by}`, async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      if (request.url === '/stored') response.setHeader('cache-control', 's-maxage=60').setHeader('etag', '"1"')
      if (request.url === '/fault') response.statusCode = 503
      response.end(`page ${request.url}`)
    })
    const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) }, { hasFastPath })
    const recorded = recording(edge)
    const bytes: number[] = []
    const visit = async (text: string) => bytes.push((await askRaw(edge.port, text)).text.length)
    await visit(get('/stored'))
    await visit(get('/stored', 'Connection: close\r\nIf-None-Match: "1"\r\n'))
    await visit(get('/other?a=secret&b=2&a=3&=x&alone'))
    await visit(get('/fault'))
    await visit(`POST /form HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 3\r\n${CLOSE}\r\na=b`)
    await visit(get('/none', `Cache-Control: only-if-cached\r\n${CLOSE}`))
    // An answer is recorded when its connection has taken it, which may be after the next one was asked for.
    const order = ['/stored 200', '/stored 304', '/other 200', '/fault 503', '/form 200', '/none 504']
    const placeOf = ({ path, status }: { path: string; status: number }) => order.indexOf(`${path} ${status}`)
    const records = (await recorded(6)).toSorted((a, b) => placeOf(a) - placeOf(b))
    assert.deepEqual(records.map(short), [
      ['GET', '/stored', 200, 'miss', 'complete'],
      ['GET', '/stored', 304, 'hit', 'complete'],
      ['GET', '/other', 200, 'miss', 'complete'],
      ['GET', '/fault', 503, 'miss', 'complete'],
      ['POST', '/form', 200, 'bypass', 'complete'],
      ['GET', '/none', 504, 'none', 'complete'],
    ])
    assert.deepEqual(
      records.map((record) => record.bytes),
      bytes,
    )
    assert.deepEqual(records[2]?.parameters, ['a', 'b'])
    assert.doesNotMatch(JSON.stringify(records), /secret|alone/)
    assert.ok(records.every(({ client }) => client === '127.0.0.0/24'))
    assert.ok(records.every(({ durationMs }) => durationMs >= 0))
  })

  test(`answers that come together on one connection have their own bytes, ${by}`, async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      if (request.url === '/stored') response.setHeader('cache-control', 's-maxage=60')
      response.end('x'.repeat(request.url === '/large' ? 5000 : 10))
    })
    const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) }, { hasFastPath })
    await ask(edge.port, { path: '/stored' })
    const recorded = recording(edge)
    const { text } = await askRaw(
      edge.port,
      get('/stored', '') + get('/large', '') + get('/stored', '') + get('/small', '') + get('/stored'),
    )
    const records = await recorded(5)
    const sizes = text
      .split('HTTP/1.1 200')
      .slice(1)
      .map((answer) => answer.length + 'HTTP/1.1 200'.length)
    assert.deepEqual(records.map((record) => record.bytes).toSorted(), sizes.toSorted())
    assert.deepEqual(records.map(({ path }) => path).toSorted(), ['/large', '/small', '/stored', '/stored', '/stored'])
  })
}

async function staticTarget(t: TestContext): Promise<Target> {
  const folder = await temporaryFolder(t)
  const files = join(folder, 'files')
  await mkdir(files)
  await writeFile(join(files, 'index.html'), '<p>hello</p>')
  const manifest = await writeManifest(folder, await createManifest(files, folder, { singlePage: false, basePath: '' }))
  return { kind: 'static', environment: 'e1', deployment: 'd1', folder: files, manifest }
}

test('files are static, by both ways, and so is a page that is not there', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: await staticTarget(t) })
  const recorded = recording(edge)
  const socket = connect(edge.port, '127.0.0.1')
  t.after(() => socket.destroy())
  const bytes: number[] = []
  for (const path of ['/', '/', '/absent']) {
    socket.write(get(path, ''))
    bytes.push((await readRaw(socket, path === '/' ? /hello<\/p>$/ : /<\/html>\n$/)).length)
  }
  const records = await recorded(3)
  assert.deepEqual(records.map(short), [
    ['GET', '/', 200, 'static', 'complete'],
    ['GET', '/', 200, 'static', 'complete'],
    ['GET', '/absent', 404, 'static', 'complete'],
  ])
  assert.deepEqual(
    records.map((record) => record.bytes),
    bytes,
  )
})

test('a visitor who leaves is told apart from an app that breaks off, before and after the answer began', async (t) => {
  const begun = Promise.withResolvers<void>()
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', (request) => {
      const path = /^GET (\S+)/.exec(request.toString())?.[1]
      if (path === '/silent') return begun.resolve()
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun')
      if (path === '/broken') setImmediate(() => socket.destroy())
    })
  })
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) })
  const recorded = recording(edge)

  const silent = connect(edge.port, '127.0.0.1')
  silent.write(get('/silent'))
  await begun.promise
  silent.destroy()
  await recorded(1)
  const { socket } = await askRaw(edge.port, get('/half'), /begun$/)
  socket.destroy()
  await recorded(2)
  await askRaw(edge.port, get('/broken'))
  assert.deepEqual((await recorded(3)).map(short), [
    ['GET', '/silent', 0, 'none', 'aborted'],
    ['GET', '/half', 200, 'miss', 'aborted'],
    ['GET', '/broken', 200, 'miss', 'broken'],
  ])
})

test('a stream is recorded at its end, and a WebSocket as 101 with everything that was sent', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', (request) => {
      if (!/upgrade: /i.test(request.toString())) {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n')
        return void socket.once('data', () => undefined)
      }
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
      socket.on('data', (chunk) => socket.write(chunk))
    })
  })
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) })
  const recorded = recording(edge)
  const upgraded = await askRaw(edge.port, get('/socket', 'Upgrade: x\r\nConnection: Upgrade\r\n'), /\r\n\r\n$/)
  upgraded.socket.write('ping')
  await readRaw(upgraded.socket, /ping$/)
  assert.equal(edge.takeRequests(), undefined, 'it goes on')
  upgraded.socket.end()
  const [record] = await recorded(1)
  assert.ok(record)
  assert.deepEqual(short(record), ['GET', '/socket', 101, 'bypass', 'complete'])
  assert.equal(record.bytes, upgraded.text.length + 'ping'.length)
  assert.ok(record.durationMs > 0)

  const stream = await askRaw(edge.port, get('/events', ''), /data: 1/)
  assert.equal(edge.takeRequests(), undefined, 'it goes on')
  stream.socket.destroy()
  assert.deepEqual(short((await recorded(2))[1] as RequestRecord), ['GET', '/events', 200, 'miss', 'aborted'])
})

test('an error has an id, which its visitor sees in a header and on a page of the edge; other answers have none', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.writeHead(request.url === '/fault' ? 500 : 200, ['X-App', 'yes']).end('from the app')
  })
  const edge = await startTestEdge(t, {
    [HOST]: serverTarget(upstream.port),
    'down.localhost': { kind: 'down', environment: 'e1', deployment: 'd1' },
  })
  const before = await ask(edge.port, { path: '/fault' })
  assert.equal(before.headers['headland-request-id'], undefined)
  const recorded = recording(edge)
  const good = await ask(edge.port)
  const fault = await ask(edge.port, { path: '/fault' })
  const down = await ask(edge.port, { host: 'down.localhost' })
  const [first, second, third] = await recorded(3)
  assert.equal(good.headers['headland-request-id'], undefined)
  assert.equal(first?.id, undefined)
  assert.deepEqual([fault.headers['x-app'], fault.text], ['yes', 'from the app'])
  assert.match(second?.id ?? '', /^[0-9a-f]{16}$/)
  assert.equal(fault.headers['headland-request-id'], second?.id)
  assert.equal(down.headers['headland-request-id'], third?.id)
  assert.ok(down.text.includes(`Request id: ${third?.id}`))
})

for (const hasFastPath of [true, false]) {
  test(`a stored error has the same headers for all, ${hasFastPath ? 'by the fast path' : 'by node:http'}`, async (t) => {
    const upstream = await startUpstream(t, (_, response) => {
      response.writeHead(500, { 'cache-control': 's-maxage=60' }).end('from the app')
    })
    const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) }, { hasFastPath })
    const recorded = recording(edge)
    const first = await ask(edge.port)
    const second = await ask(edge.port)
    const records = await recorded(2)
    assert.deepEqual(
      records.map(({ cache }) => cache),
      ['miss', 'hit'],
    )
    assert.equal(first.headers['headland-request-id'], records[0]?.id)
    assert.deepEqual([second.headers['headland-request-id'], records[1]?.id], [undefined, undefined])
  })
}

test('unknown hosts and requests that cannot be read are recorded nowhere, and nothing is before it is switched on', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: { kind: 'empty', environment: 'e1' } })
  await ask(edge.port)
  assert.equal(edge.takeRequests(), undefined)
  const recorded = recording(edge)
  await ask(edge.port, { host: 'unknown.localhost' })
  await askRaw(edge.port, 'GET / HTTP/1.1\r\n\r\n')
  await ask(edge.port, { path: '/last' })
  assert.deepEqual((await recorded(1)).map(short), [['GET', '/last', 404, 'none', 'complete']])
})

test('behind a proxy that is trusted, the network is that of the visitor', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: await staticTarget(t) })
  edge.trust(['127.0.0.1'])
  const recorded = recording(edge)
  for (const address of ['203.0.113.77', 'x, 2001:db8:12:3456::1', 'nonsense'])
    await ask(edge.port, { headers: { 'x-forwarded-for': address } })
  assert.deepEqual(
    (await recorded(3)).map(({ client }) => client),
    ['203.0.113.0/24', '2001:db8:12::/48', undefined],
  )
})

test('long paths are cut, and bytes that a terminal would obey are percent-encoded', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: { kind: 'empty', environment: 'e1' } })
  const recorded = recording(edge)
  await askRaw(edge.port, get(`/${'p'.repeat(4000)}`))
  await askRaw(edge.port, get(`/?${Array.from({ length: 100 }, (_, n) => `${'n'.repeat(60)}${n}=1`).join('&')}`))
  const [long, many] = await recorded(2)
  assert.equal(long?.path, `/${'p'.repeat(511)}…`)
  assert.deepEqual(many?.parameters, [`${'n'.repeat(40)}…`])
  assert.deepEqual(readTarget('/\u009b31m\u00e9 \u001b?\u0007=1'), { path: '/%9B31m%E9%20%1B', parameters: ['%07'] })
})

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  ask,
  askRaw,
  connectionsOf,
  HOST,
  readRaw,
  serverTarget,
  startRawUpstream,
  startTestEdge,
  startUpstream,
} from '../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../test/support/folder.ts'
import { until } from '../../test/support/until.ts'
import { type Counts, createCounts, LATENCY_BOUNDS_MS } from './counts.ts'
import type { Target } from './routes.ts'
import { createManifest, writeManifest } from './static/manifest.ts'

/**
 * What was counted so far for one environment, since the first call: reports are added up, as the control process does.
 */
function adding(edge: { takeCounts(): Record<string, Counts> | undefined }) {
  const all = { requests: 0, hits: 0, bytes: 0, errors: 0, answers: 0 }
  return () => {
    const taken = edge.takeCounts() ?? {}
    assert.deepEqual(Object.keys(taken), Object.keys(taken).length > 0 ? ['e1'] : [])
    const { requests = 0, hits = 0, bytes = 0, errors = 0, latencies = [] } = taken.e1 ?? {}
    all.requests += requests
    all.hits += hits
    all.bytes += bytes
    all.errors += errors
    all.answers += latencies.reduce((sum, count) => sum + count, 0)
    return { ...all }
  }
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${more}\r\n`
const CLOSE = 'Connection: close\r\n'

async function appEdge(t: TestContext, hasFastPath: boolean) {
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/stored') response.setHeader('cache-control', 's-maxage=60')
    if (request.url === '/fault') response.statusCode = 503
    response.end(request.method === 'POST' ? 'posted' : `page ${request.url}`)
  })
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) }, { hasFastPath })
  return { edge, counted: adding(edge) }
}

for (const hasFastPath of [true, false]) {
  const by = hasFastPath ? 'with the fast path' : 'by node:http alone'

  test(`every answer counts once, and every byte, ${by}`, async (t) => {
    const { edge, counted } = await appEdge(t, hasFastPath)
    let bytes = 0
    const visit = async (text: string) => {
      const answer = await askRaw(edge.port, text)
      bytes += answer.text.length
    }
    await visit(get('/stored', CLOSE))
    await until(() => counted().bytes === bytes)
    assert.deepEqual(counted(), { requests: 1, hits: 0, bytes, errors: 0, answers: 1 })

    await visit(get('/stored', CLOSE))
    await visit(get('/stored', `Cache-Control: max-stale\r\n${CLOSE}`))
    await visit(get('/other', CLOSE))
    await visit(get('/fault', CLOSE))
    await visit(`HEAD /other HTTP/1.1\r\nHost: ${HOST}\r\n${CLOSE}\r\n`)
    await visit(`POST /form HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 3\r\n${CLOSE}\r\na=b`)
    await visit(get('/none', `Cache-Control: only-if-cached\r\n${CLOSE}`))
    await until(() => counted().bytes === bytes)
    assert.deepEqual(counted(), { requests: 8, hits: 2, bytes, errors: 2, answers: 8 })
  })

  test(`requests that come together on one connection, stored and not, count once each, ${by}`, async (t) => {
    const { edge, counted } = await appEdge(t, hasFastPath)
    await ask(edge.port, { path: '/stored' })
    await until(() => counted().requests === 1)
    const before = counted()
    const socket = connect(edge.port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(get('/stored') + get('/other') + get('/stored') + get('/more') + get('/stored') + get('/last'))
    const first = await readRaw(socket, /page \/last$/)
    socket.write(get('/stored') + get('/stored', CLOSE))
    const second = await readRaw(socket)
    await until(() => counted().bytes === before.bytes + first.length + second.length)
    const { requests, hits, answers } = counted()
    assert.deepEqual({ requests, hits, answers }, { requests: 9, hits: 5, answers: 9 })
  })
}

test('a file counts as answered without the app, by both ways, and so does one that is not there', async (t) => {
  const folder = await temporaryFolder(t)
  const files = join(folder, 'files')
  await mkdir(files)
  await writeFile(join(files, 'index.html'), '<p>hello</p>')
  const manifest = await writeManifest(folder, await createManifest(files, folder, { singlePage: false, basePath: '' }))
  const target: Target = { kind: 'static', environment: 'e1', deployment: 'd1', folder: files, manifest }
  const edge = await startTestEdge(t, { [HOST]: target })
  const counted = adding(edge)
  const socket = connect(edge.port, '127.0.0.1')
  t.after(() => socket.destroy())
  let bytes = 0
  for (const path of ['/', '/', '/', '/absent']) {
    socket.write(get(path))
    bytes += (await readRaw(socket, path === '/' ? /hello<\/p>$/ : /<\/html>\n$/)).length
  }
  await until(() => counted().bytes === bytes)
  assert.deepEqual(counted(), { requests: 4, hits: 4, bytes, errors: 0, answers: 4 })
})

test('pages of the edge itself count, as errors where they are; requests to an unknown host count nowhere', async (t) => {
  const refusing = await startRawUpstream(t, (socket) => socket.destroy())
  const edge = await startTestEdge(t, {
    [HOST]: serverTarget(refusing.port),
    'empty.localhost': { kind: 'empty', environment: 'e1' },
    'down.localhost': { kind: 'down', environment: 'e1', deployment: 'd1' },
  })
  const counted = adding(edge)
  assert.equal((await ask(edge.port)).status, 502)
  assert.equal((await ask(edge.port, { host: 'empty.localhost' })).status, 404)
  assert.equal((await ask(edge.port, { host: 'down.localhost' })).status, 503)
  assert.equal((await ask(edge.port, { host: 'unknown.localhost' })).status, 404)
  await askRaw(edge.port, 'GET / HTTP/1.1\r\n\r\n')
  await until(() => counted().answers === 3)
  const { requests, hits, errors } = counted()
  assert.deepEqual({ requests, hits, errors }, { requests: 3, hits: 0, errors: 2 })
})

test('a stream counts when it begins, and its bytes while it goes on', async (t) => {
  const upstream = await startUpstream(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: one\n\n')
  })
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) })
  const counted = adding(edge)
  const { text, socket } = await askRaw(edge.port, get('/'), /data: one/)
  t.after(() => socket.destroy())
  await until(() => counted().bytes >= text.length)
  assert.equal(counted().requests, 1)
  socket.destroy()
  while ((await connectionsOf(edge.http)) > 0) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(counted().requests, 1)
})

test('an upgrade counts once, with what is sent after it; a refused one too', async (t) => {
  const upstream = await startUpstream(t, (_, response) => {
    response.statusCode = 403
    response.end('no')
  })
  let isAgreeing = true
  upstream.http.on('upgrade', (_, socket) => {
    socket.on('error', () => undefined)
    if (isAgreeing) socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello')
    else socket.end('HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n')
  })
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) })
  const counted = adding(edge)
  const upgrade = get('/', 'Connection: Upgrade\r\nUpgrade: x\r\n')
  const { text, socket } = await askRaw(edge.port, upgrade, /hello/)
  await until(() => counted().bytes === text.length)
  assert.deepEqual(counted(), { requests: 1, hits: 0, bytes: text.length, errors: 0, answers: 1 })
  socket.destroy()
  isAgreeing = false
  const refused = await askRaw(edge.port, upgrade)
  const bytes = text.length + refused.text.length
  await until(() => counted().bytes === bytes)
  assert.deepEqual(counted(), { requests: 2, hits: 0, bytes, errors: 1, answers: 2 })
})

test('a visitor who leaves before there is an answer counts once, and as no error', async (t) => {
  let isAsked = false
  const upstream = await startUpstream(t, () => {
    isAsked = true
  })
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) })
  const counted = adding(edge)
  const socket = connect(edge.port, '127.0.0.1')
  socket.write(get('/'))
  await until(() => isAsked)
  assert.equal(counted().requests, 0)
  socket.destroy()
  await until(() => counted().requests === 1)
  assert.deepEqual(counted(), { requests: 1, hits: 0, bytes: 0, errors: 0, answers: 1 })
})

test('an app that sleeps: what is stored is a hit, and a request that wakes it is one request', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.setHeader('cache-control', request.url === '/stored' ? 's-maxage=60' : 'no-store')
    response.end('page')
  })
  const server = serverTarget(upstream.port)
  const edge = await startTestEdge(
    t,
    { [HOST]: server },
    { wake: () => setImmediate(() => edge.use({ [HOST]: server })) },
  )
  const counted = adding(edge)
  await ask(edge.port, { path: '/stored' })
  edge.use({ [HOST]: { kind: 'asleep', environment: 'e1', deployment: 'd1' } })
  await ask(edge.port, { path: '/stored' })
  await ask(edge.port, { path: '/stored', headers: { range: 'bytes=0-1' } })
  await ask(edge.port, { path: '/other' })
  await until(() => counted().answers === 4)
  const { requests, hits, errors } = counted()
  assert.deepEqual({ requests, hits, errors }, { requests: 4, hits: 2, errors: 0 })
})

test('what is taken is taken once', () => {
  const counts = createCounts()
  assert.equal(counts.take(), undefined)
  counts.quick('e1', '/', Buffer.from('HTTP/1.1 200 OK'))
  counts.quick('e1', '/', { head: 'HTTP/1.1 404 Not Found', body: Buffer.alloc(3) })
  counts.quick('e2', '/', Buffer.from('HTTP/1.1 200'))
  const latencies = [2, ...LATENCY_BOUNDS_MS.map(() => 0)]
  assert.deepEqual(counts.take()?.e1, { requests: 2, hits: 2, bytes: 40, errors: 0, statuses: [1, 0, 1], latencies })
  assert.equal(counts.take(), undefined)
})

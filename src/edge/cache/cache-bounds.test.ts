/** What is too large, too much or too long for the cache. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type CachedApp, cachedApp, send, statusOf } from '../../../test/support/edge/cache.ts'
import { ask, HOST, serverTarget, untilStill } from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'

const MIB = 1024 * 1024
const MINUTE = { 'cache-control': 'max-age=60' }

/** The byte at each position depends on the position. */
const body = (size: number) => Buffer.from(Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 255))

const untilStored = (edge: CachedApp, path = '/') =>
  until(async () => (await edge.inspect('e1', `http://${HOST}${path}`)).stored.length > 0, 'it is stored')

for (const isAnnounced of [true, false]) {
  const name = isAnnounced
    ? 'a body that is announced as too large for memory'
    : 'a body that grows too large for memory'
  test(`${name} streams through, and is served from the disk from then on`, async (t) => {
    const large = body(3 * MIB)
    const edge = await cachedApp(
      t,
      (_, response) => {
        response.writeHead(200, {
          ...MINUTE,
          etag: '"large"',
          ...(isAnnounced ? { 'content-length': large.length } : {}),
        })
        response.end(large)
      },
      { diskBytes: 64 * MIB },
    )
    const [first, second] = await Promise.all([edge.get(), edge.get()])
    assert.ok(first.body.equals(large))
    assert.ok(second.body.equals(large))
    await untilStored(edge)
    const asked = edge.asked.length
    const hit = await edge.get()
    assert.ok(hit.body.equals(large))
    assert.match(statusOf(hit), /^hit/)
    assert.equal(hit.headers['content-length'], String(large.length))
    const part = await edge.get('/', { range: `bytes=${MIB}-${MIB + 99}` })
    assert.equal(part.status, 206)
    assert.ok(part.body.equals(large.subarray(MIB, MIB + 100)))
    assert.equal(part.headers['content-range'], `bytes ${MIB}-${MIB + 99}/${large.length}`)
    assert.ok((await edge.get('/', { range: 'bytes=-5' })).body.equals(large.subarray(-5)))
    assert.equal((await edge.get('/', { range: `bytes=${large.length}-` })).status, 416)
    assert.equal((await edge.get('/', { 'if-none-match': '"large"' })).status, 304)
    const head = await ask(edge.port, { method: 'HEAD' })
    assert.equal(head.headers['content-length'], String(large.length))
    assert.equal(edge.asked.length, asked)
    const { stored } = await edge.inspect('e1', `http://${HOST}/`)
    assert.equal(stored[0]?.place, 'disk')
    edge.purge({ environment: 'e1', paths: ['/'] })
    assert.ok((await edge.get()).body.equals(large))
    assert.equal(edge.asked.length, asked + 1)
    assert.deepEqual(edge.troubles, [])
  })
}

test('without a disk what is too large for memory is passed on each time', async (t) => {
  const large = body(2 * MIB)
  const edge = await cachedApp(t, (_, response) => send(response, MINUTE, large))
  for (let round = 1; round <= 2; round++) {
    assert.ok((await edge.get()).body.equals(large))
    assert.equal(edge.asked.length, round)
  }
})

test('a large body that was purged on its way, or broke off, is not found afterwards', async (t) => {
  const large = body(2 * MIB)
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response), { diskBytes: 64 * MIB })
  for (const fate of ['purged', 'broken']) {
    const path = `/${fate}`
    const sent = request({ host: '127.0.0.1', port: edge.port, path, headers: { host: HOST }, agent: false }).end()
    sent.on('error', () => undefined)
    const count = app.length
    await until(() => app.length === count + 1)
    const response = app[count] as ServerResponse
    response.writeHead(200, { ...MINUTE, 'content-length': large.length })
    response.write(large.subarray(0, MIB + 5000))
    const [received] = (await once(sent, 'response')) as [IncomingMessage]
    const ended = new Promise((resolve) => received.on('error', () => undefined).on('close', resolve))
    let got = 0
    received.on('data', (chunk) => {
      got += chunk.length
    })
    await until(() => got === MIB + 5000)
    if (fate === 'purged') {
      edge.purge({ environment: 'e1', paths: [path] })
      response.end(large.subarray(MIB + 5000))
    } else {
      response.destroy()
    }
    await ended
    assert.equal(received.complete, fate === 'purged')
    await untilStill(() => app.length)
    assert.deepEqual((await edge.inspect('e1', `http://${HOST}${path}`)).stored, [])
    const again = edge.get(path)
    await until(() => app.length === count + 2)
    send(app[count + 1] as ServerResponse, MINUTE, 'again')
    assert.equal((await again).text, 'again')
  }
  assert.deepEqual(edge.troubles, [])
})

test('a large body takes no memory for its length while it streams through', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const size = 48 * MIB
  const chunk = Buffer.alloc(256 * 1024)
  const edge = await cachedApp(
    t,
    (_, response) => {
      let sent = 0
      response.writeHead(200, { ...MINUTE, 'content-length': size })
      function more() {
        while (sent < size) {
          sent += chunk.length
          if (!response.write(chunk)) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    },
    { diskBytes: 1024 * MIB },
  )
  const memoryInUse = () => {
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const before = memoryInUse()
  const looks: number[] = []
  for (let round = 0; round < 2; round++) {
    const sent = request({ host: '127.0.0.1', port: edge.port, headers: { host: HOST }, agent: false }).end()
    const [received] = (await once(sent, 'response')) as [IncomingMessage]
    let got = 0
    let looked = 0
    for await (const piece of received) {
      got += piece.length
      if (got - looked < 4 * MIB) continue
      looked = got
      looks.push(memoryInUse() - before)
    }
    assert.equal(got, size)
    if (round === 0) await untilStored(edge)
  }
  assert.equal(edge.asked.length, 1)
  // What was released a moment ago may still be counted once.
  const usual = looks.toSorted((one, other) => one - other)[Math.floor(looks.length / 2)] ?? 0
  assert.ok(looks.length > 20 && usual < 4 * MIB, `${usual} bytes at once`)
})

test('one environment that fills the memory takes nothing from another', async (t) => {
  const edge = await cachedApp(t, ({ url }, response) => send(response, MINUTE, Buffer.alloc(10_000, url)), {
    memoryBytes: 1_000_000,
  })
  const greedy = { ...serverTarget(edge.app.port, 'i2', 'd2'), environment: 'e2' }
  edge.use({ [HOST]: serverTarget(edge.app.port), 'greedy.localhost': greedy })
  for (let n = 0; n < 10; n++) await edge.get(`/${n}`)
  for (let n = 0; n < 300; n++) await ask(edge.port, { host: 'greedy.localhost', path: `/${n}` })
  const asked = edge.asked.length
  for (let n = 0; n < 10; n++) assert.match(statusOf(await edge.get(`/${n}`)), /^hit/, `/${n}`)
  assert.equal(edge.asked.length, asked)
})

test('what does not fit into memory is served from the disk, whole and in part', async (t) => {
  const page = (path: string) => body(20_000 + path.length)
  const edge = await cachedApp(t, ({ url = '' }, response) => send(response, MINUTE, page(url)), {
    memoryBytes: 200_000,
    diskBytes: 64 * MIB,
  })
  const paths = Array.from({ length: 50 }, (_, n) => `/${'x'.repeat(n)}`)
  for (const path of paths) await edge.get(path)
  for (const path of paths) {
    const answer = await edge.get(path)
    assert.match(statusOf(answer), /^hit/, path)
    assert.ok(answer.body.equals(page(path)), path)
    assert.equal((await edge.get(path, { range: 'bytes=5-8' })).body.length, 4)
  }
  assert.equal(edge.asked.length, paths.length)
  edge.purge({ environment: 'e1' })
  await edge.get('/')
  assert.equal(edge.asked.length, paths.length + 1)
})

test('variants of one address are bounded', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) =>
    send(response, { ...MINUTE, vary: 'x-theme' }, String(headers['x-theme'])),
  )
  for (let n = 0; n < 100; n++) await edge.get('/', { 'x-theme': `${n}` })
  const { stored } = await edge.inspect('e1', `http://${HOST}/`)
  assert.equal(stored.length, 64)
  assert.match(statusOf(await edge.get('/', { 'x-theme': '99' })), /^hit/)
  assert.equal((await edge.get('/', { 'x-theme': '0' })).text, '0')
})

test('bodies on their way take so much memory for one environment and no more, and nothing of a neighbour’s', async (t) => {
  const begun: ServerResponse[] = []
  const edge = await cachedApp(
    t,
    (asked, response) => {
      if (asked.headers.host !== HOST) return send(response, MINUTE, 'whole')
      response.writeHead(200, MINUTE)
      response.write(body(100_000))
      begun.push(response)
    },
    { limits: { collectingBytes: 400_000, collectingBytesPerEnvironment: 300_000, bufferedBytes: 200_000 } },
  )
  const other = { ...serverTarget(edge.app.port, 'i2', 'd2'), environment: 'e2' }
  edge.use({ [HOST]: serverTarget(edge.app.port), 'other.localhost': other })
  const answers = Array.from({ length: 8 }, (_, n) => edge.get(`/${n}`))
  await until(() => begun.length === 8)
  await untilStill(() => edge.asked.length)
  const visit = () => ask(edge.port, { host: 'other.localhost' })
  await visit()
  assert.match(statusOf(await visit()), /^hit/, 'a neighbour’s is stored meanwhile')
  for (const response of begun) response.end('end')
  for (const answer of await Promise.all(answers))
    assert.equal(answer.body.length, 100_003, 'no response is incomplete')
  const again = await Promise.all(
    Array.from({ length: 8 }, (_, n) => edge.inspect('e1', `http://${HOST}/${n}`).then(({ stored }) => stored.length)),
  )
  const count = again.reduce((sum, each) => sum + each, 0)
  assert.ok(count > 0 && count <= 3, `${count} of 8 were buffered in memory, and stored`)
  const free = edge.get('/free')
  await until(() => begun.length === 9)
  begun[8]?.end()
  await free
  await untilStored(edge, '/free')
})

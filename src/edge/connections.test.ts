import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ask, connectionsOf, startTestEdge } from '../../test/support/edge/edge.ts'
import { type Client, connectTo, startFastPathServer } from '../../test/support/edge/fast-path.ts'
import { until } from '../../test/support/until.ts'
import { createConnections } from './connections.ts'
import { toWire } from './http/wire.ts'
import { LIMITS, type Limits } from './limits.ts'

async function startCounting(t: TestContext, limits: Partial<Limits>, isExempt?: (address: string) => boolean) {
  const http = createServer((_, response) => response.end('ok'))
  createConnections({ http, limits: { ...LIMITS, ...limits }, ...(isExempt ? { isExempt } : {}) })
  t.after(() => {
    http.close()
    http.closeAllConnections()
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const { port } = http.address() as AddressInfo
  /** Resolves with whether the connection is answered. */
  async function tryOne(localAddress = '127.0.0.1'): Promise<{ socket: Socket; isServed: boolean }> {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.write('GET / HTTP/1.1\r\nHost: site\r\n\r\n')
    let isServed = false
    socket.once('data', () => {
      isServed = true
    })
    await new Promise((resolve) => {
      socket.once('data', resolve)
      socket.once('close', resolve)
    })
    return { socket, isServed }
  }
  return { http, tryOne }
}

test('one client has so many connections and no more, until it closes one', async (t) => {
  const { http, tryOne } = await startCounting(t, { connectionsPerClient: 3 })
  const first = await tryOne()
  await tryOne()
  await tryOne()
  for (let n = 0; n < 5; n++) assert.equal((await tryOne()).isServed, false)
  assert.equal((await tryOne('127.0.0.2')).isServed, true)
  first.socket.destroy()
  await until(() => first.socket.destroyed)
  while ((await connectionsOf(http)) > 3) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await tryOne()).isServed, true)
  assert.equal((await tryOne()).isServed, false)
})

test('an address that stands for many clients may have more', async (t) => {
  const { tryOne } = await startCounting(t, { connectionsPerClient: 1 }, (address) => address === '127.0.0.2')
  for (let n = 0; n < 4; n++) assert.equal((await tryOne('127.0.0.2')).isServed, true)
  assert.equal((await tryOne()).isServed, true)
  assert.equal((await tryOne()).isServed, false)
})

test('all clients together have so many connections and no more', async (t) => {
  const { tryOne } = await startCounting(t, { connections: 2 })
  assert.equal((await tryOne()).isServed, true)
  assert.equal((await tryOne('127.0.0.2')).isServed, true)
  assert.equal((await tryOne('127.0.0.3')).isServed, false)
})

const QUICK: Partial<Limits> = { clientSweepMs: 10, requestHeadMs: 150, idleClientMs: 300 }
const HIT = 'GET /hit HTTP/1.1\r\nHost: site\r\n\r\n'
const MISS = 'GET /miss HTTP/1.1\r\nHost: site\r\n\r\n'

async function startTimed(
  t: TestContext,
  limits: Partial<Limits>,
  listener: RequestListener = (_, response) => response.end('ok'),
) {
  const server = await startFastPathServer(t, {
    listener,
    limits: { ...QUICK, ...limits },
    answer: ({ target }) => (target === '/hit' ? toWire(200, ['Content-Length', '2'], Buffer.from('ok')) : undefined),
  })
  async function open(): Promise<Client> {
    const client = await connectTo(server)
    t.after(() => client.socket.destroy())
    return client
  }
  return { ...server, open }
}

const statuses = (client: Client): string[] => client.text().match(/(?<=HTTP\/1\.1 )\d+/g) ?? []

test('a client that sends nothing is disconnected without a response', async (t) => {
  const { open } = await startTimed(t, {})
  const client = await open()
  await until(client.isClosed)
  assert.equal(client.text(), '')
})

test('a head that is never finished is answered with 408, however slowly it goes on', async (t) => {
  const { open } = await startTimed(t, { idleClientMs: 60_000 })
  for (const before of [[], [HIT], [MISS], [HIT, MISS, HIT]]) {
    const client = await open()
    for (const request of before) await client.send(request)
    await client.send('GET /hit HTTP/1.1\r\nX: ')
    const drip = setInterval(() => client.socket.write('x'), 5)
    await until(client.isClosed)
    clearInterval(drip)
    assert.deepEqual(statuses(client), [...before.map(() => '200'), '408'])
  }
})

test('a head that begins together with the end of a body has the same time limit', async (t) => {
  const { open } = await startTimed(t, {})
  const client = await open()
  await client.send('POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 4\r\n\r\nbodyGET /hit HT')
  await client.send('TP/1.1\r\n')
  await until(client.isClosed)
  assert.deepEqual(statuses(client), ['200', '408'])
})

test('a connection is kept between two requests for its time, whether the fast path or node:http answered, and then closed', async (t) => {
  const { open } = await startTimed(t, { requestHeadMs: 60_000 })
  for (const before of [[HIT], [MISS], [HIT, MISS], [MISS, HIT]]) {
    const client = await open()
    for (const request of before) await client.send(request)
    await until(client.isClosed)
    assert.deepEqual(
      statuses(client),
      before.map(() => '200'),
    )
  }
})

test('no timeout runs while a response is in progress, and it starts from the beginning afterwards', async (t) => {
  let finish: (() => void) | undefined
  const { open, connections } = await startTimed(t, { idleClientMs: 60_000 }, (_, response) => {
    response.write('begun')
    finish = () => response.end('done')
  })
  const client = await open()
  await client.send(MISS)
  const began = connections.now()
  await until(() => connections.now() > began + 400)
  assert.ok(!client.isClosed())
  finish?.()
  await client.settle()
  await client.send(HIT)
  assert.deepEqual(statuses(client), ['200', '200'])
  assert.equal(connections.of(client.peer)?.awaits, 'next')
})

test('a body that is still arriving has its own timeout', async (t) => {
  const { open, connections } = await startTimed(t, { stalledClientMs: 60_000 }, (request, response) => {
    request.resume().once('end', () => response.end('ok'))
  })
  const client = await open()
  await client.send('POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 4\r\n\r\nbo')
  const began = connections.now()
  await until(() => connections.now() > began + 400)
  await client.send('dy')
  assert.deepEqual(statuses(client), ['200'])
})

test('a connection that speaks another protocol is no longer watched', async (t) => {
  const { open, connections } = await startTimed(t, {})
  const client = await open()
  await client.send('GET /socket HTTP/1.1\r\nHost: site\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
  assert.equal(connections.of(client.peer), undefined)
  connections.closeIdle()
  await client.send('still there')
  assert.match(client.text(), /still there$/)
})

test('idle connections are closed early when most are taken, and are kept while there are enough', async (t) => {
  for (const connections of [4, 100]) {
    const edge = await startTestEdge(t, {}, { limits: { connections, crowdedMs: 0, clientSweepMs: 10 } })
    const idle = Array.from({ length: 4 }, () => connect(edge.port, '127.0.0.1').on('error', () => undefined))
    t.after(() => idle.forEach((socket) => void socket.destroy()))
    await Promise.all(idle.map((socket) => once(socket, 'connect')))
    for (const socket of idle) socket.resume()
    if (connections === 4) await until(() => idle.some((socket) => socket.closed))
    else assert.ok(idle.every((socket) => !socket.closed))
    assert.equal((await ask(edge.port)).status, 404, 'a new request is answered')
  }
})

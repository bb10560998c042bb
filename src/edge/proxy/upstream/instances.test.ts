import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startRawUpstream, untilStill } from '../../../../test/support/edge/edge.ts'
import { until } from '../../../../test/support/until.ts'
import { LIMITS, type Limits } from '../../limits.ts'
import type { ServerTarget } from '../../routes.ts'
import { createInFlight } from '../in-flight.ts'
import { createPools } from '../pools.ts'
import { createInstances, type Failure, type UpstreamRequest } from './instances.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

type Connection = { socket: Socket; requests: string[] }

/** An app that sends raw bytes, the requests that it got on each connection, and a function that asks it. */
async function start(t: TestContext, reply: (request: string, at: Connection) => void, limits: Partial<Limits> = {}) {
  const connections: Connection[] = []
  const { port } = await startRawUpstream(t, (socket) => {
    const connection: Connection = { socket, requests: [] }
    connections.push(connection)
    socket.on('data', (chunk) => {
      const request = chunk.toString('latin1')
      connection.requests.push(request)
      reply(request, connection)
    })
  })
  const all = { ...LIMITS, ...limits }
  const inFlight = createInFlight()
  const pools = createPools(all)
  const troubles: unknown[] = []
  const instances = createInstances({ limits: all, inFlight, pools, report: (error) => troubles.push(error) })
  t.after(() => instances.retire('i'))
  const target: ServerTarget = {
    kind: 'server',
    environment: 'e',
    deployment: 'd',
    instance: 'i',
    host: '127.0.0.1',
    port,
  }
  const ask = (path = '/', asked: Partial<UpstreamRequest> = {}) =>
    listen((listener) => instances.ask(target, { method: 'GET', path, headers: ['host', 'app'], ...asked }, listener))
  return { connections, instances, inFlight, pools, target, ask, troubles }
}

type Instances = ReturnType<typeof createInstances>

/** What a request comes to. */
function listen(ask: (listener: Parameters<Instances['ask']>[2]) => ReturnType<Instances['ask']>) {
  const received = { status: 0, body: '', interims: 0, ends: 0, failures: [] as Failure[] }
  const { promise, resolve } = Promise.withResolvers<string>()
  const asking = ask({
    interim: () => received.interims++,
    head({ status }) {
      received.status = status
    },
    data(chunk) {
      received.body += chunk
    },
    end() {
      received.ends++
      resolve(`${received.status} ${received.body}`)
    },
    fail(why) {
      received.failures.push(why)
      resolve(received.status === 0 ? why : `${received.status} ${received.body} and ${why}`)
    },
  })
  return { ...asking, received, outcome: promise }
}

test('a connection is used again, one request after the other', async (t) => {
  const { ask, connections } = await start(t, (_, { socket }) => socket.write(OK))
  for (let n = 0; n < 5; n++) assert.equal(await ask(`/${n}`).outcome, '200 ok')
  assert.equal(connections.length, 1)
  assert.deepEqual(connections[0]?.requests[4], 'GET /4 HTTP/1.1\r\nhost: app\r\n\r\n')
})

test('requests at the same time each have a connection, and those are kept', async (t) => {
  const waiting: Socket[] = []
  const { ask, connections } = await start(t, (_, { socket }) => waiting.push(socket))
  for (let round = 0; round < 2; round++) {
    const all = [ask(), ask(), ask()]
    await until(() => waiting.length === 3)
    for (const socket of waiting.splice(0)) socket.write(OK)
    for (const { outcome } of all) assert.equal(await outcome, '200 ok')
  }
  assert.equal(connections.length, 3)
})

test('a connection is not used again after a response that says so, or whose end could not be known', async (t) => {
  const replies = [
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok',
    'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    `${OK}more`,
    `${OK}${OK}`,
  ]
  const { ask, connections } = await start(t, (request, { socket }) =>
    socket.write(replies[Number(/\d/.exec(request)?.[0])] ?? OK),
  )
  for (let n = 0; n < replies.length; n++) {
    assert.equal(await ask(`/${n}`).outcome, '200 ok')
    assert.equal(connections.length, n + 1)
  }
})

test('a connection is given up before the app gives it up', async (t) => {
  const kept = async (hint: string, limits: Partial<Limits> = {}) => {
    const { ask, connections } = await start(
      t,
      (_, { socket }) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${hint}\r\nok`),
      limits,
    )
    await ask().outcome
    await untilStill(() => connections.length)
    await ask().outcome
    return connections.length === 1
  }
  assert.equal(await kept(''), true)
  assert.equal(await kept('Keep-Alive: timeout=60\r\n'), true)
  assert.equal(await kept('Keep-Alive: timeout=1\r\n'), false)
  assert.equal(await kept('Keep-Alive: timeout=0\r\n'), false)
  assert.equal(await kept('', { idleUpstreamMs: 1 }), false)
})

test('a kept connection that the app has closed meanwhile costs no reader anything', async (t) => {
  const { ask, connections } = await start(t, (request, { socket, requests }) => {
    // The second request on a connection finds it closed.
    if (requests.length === 1) socket.write(OK)
    else if (request.startsWith('GET /reset')) socket.resetAndDestroy()
    else socket.end()
  })
  assert.equal(await ask('/first').outcome, '200 ok')
  assert.equal(await ask('/end').outcome, '200 ok')
  assert.equal(await ask('/reset').outcome, '200 ok')
  assert.deepEqual(
    connections.map(({ requests }) => requests.map((request) => /\/\w+/.exec(request)?.[0])),
    [['/first', '/end'], ['/end', '/reset'], ['/reset']],
  )
})

test('a request is repeated once, on a new connection, and not when something was answered', async (t) => {
  let asked = 0
  const { ask, connections } = await start(t, (request, { socket }) => {
    asked++
    if (request.startsWith('GET /well')) return socket.write(OK)
    if (request.startsWith('GET /half')) return socket.end('HTTP/1.1 200')
    return socket.end()
  })
  assert.equal(await ask('/never').outcome, 'broken')
  assert.deepEqual([asked, connections.length], [1, 1], 'a new connection is no stale one')
  assert.equal(await ask('/well').outcome, '200 ok')
  assert.equal(await ask('/never').outcome, 'broken')
  assert.deepEqual([asked, connections.length], [4, 3])
  assert.equal(await ask('/well').outcome, '200 ok')
  assert.equal(await ask('/half').outcome, 'broken')
  assert.deepEqual([asked, connections.length], [6, 4])
})

test('bytes without a request end an idle connection', async (t) => {
  const { ask, connections } = await start(t, (_, { socket }) => socket.write(OK))
  await ask().outcome
  const [first] = connections as [Connection]
  const closed = once(first.socket, 'close')
  first.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil')
  await closed
  assert.equal(await ask().outcome, '200 ok')
  assert.equal(connections.length, 2)
})

test('an app that is not there, sends nothing or does not speak HTTP gives different failures', async (t) => {
  const { ask, instances, target } = await start(
    t,
    (request, { socket }) => {
      if (request.startsWith('GET /silent')) return
      if (request.startsWith('GET /close')) return socket.end()
      if (request.startsWith('GET /reset')) return socket.resetAndDestroy()
      if (request.startsWith('GET /part')) return socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart')
      socket.write('220 mail.example ESMTP\r\n\r\n')
    },
    { responseStartMs: 200 },
  )
  assert.equal(await ask('/silent').outcome, 'late')
  assert.equal(await ask('/close').outcome, 'broken')
  assert.equal(await ask('/reset').outcome, 'broken')
  assert.equal(await ask('/mail').outcome, 'broken')
  assert.equal(await ask('/part').outcome, '200 part and broken')
  const unreachable = { ...target, instance: 'unreachable', port: 1 }
  const refused = listen((listener) => instances.ask(unreachable, { method: 'GET', path: '/', headers: [] }, listener))
  assert.equal(await refused.outcome, 'broken')
})

test('a body that ends with its connection is whole after a proper end, and not after a reset', async (t) => {
  const { ask } = await start(t, (request, { socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nbody')
    setTimeout(() => (request.startsWith('GET /reset') ? socket.resetAndDestroy() : socket.end()), 20)
  })
  assert.equal(await ask('/end').outcome, '200 body')
  assert.equal(await ask('/reset').outcome, '200 body and broken')
})

test('the time to answer in includes the wait for a place', async (t) => {
  const { ask } = await start(t, () => undefined, { requestsPerInstance: 1, responseStartMs: 100 })
  const first = ask()
  const second = ask()
  assert.deepEqual([await first.outcome, await second.outcome], ['late', 'late'])
})

test('places are bounded, and so are those who wait for one, in order', async (t) => {
  const waiting: { request: string; socket: Socket }[] = []
  const { ask } = await start(t, (request, { socket }) => waiting.push({ request, socket }), {
    requestsPerInstance: 2,
    waitingPerInstance: 2,
  })
  const all = ['/1', '/2', '/3', '/4', '/5'].map((path) => ask(path))
  assert.equal(await all[4]?.outcome, 'busy')
  await until(() => waiting.length === 2)
  assert.equal(await untilStill(() => waiting.length), 2)
  waiting[0]?.socket.write(OK)
  await until(() => waiting.length === 3)
  assert.match(waiting[2]?.request ?? '', /^GET \/3 /)
  // A request that leaves while it waits takes no place from the next one.
  all[3]?.abort()
  waiting[1]?.socket.write(OK)
  waiting[2]?.socket.write(OK)
  for (const n of [0, 1, 2]) assert.equal(await all[n]?.outcome, '200 ok')
  assert.equal(await untilStill(() => waiting.length), 3)
  const last = ask('/6')
  await until(() => waiting.length === 4)
  waiting[3]?.socket.write(OK)
  assert.equal(await last.outcome, '200 ok')
})

test('a stream without an end gives its place to others', async (t) => {
  const { ask, connections } = await start(
    t,
    (request, { socket }) => socket.write(request.startsWith('GET /stream') ? 'HTTP/1.1 200 OK\r\n\r\nevent' : OK),
    { requestsPerInstance: 1 },
  )
  const stream = ask('/stream')
  await until(() => stream.received.body === 'event')
  stream.becomeStream()
  assert.equal(await ask('/other').outcome, '200 ok')
  stream.abort()
  await once((connections[0] as Connection).socket, 'close')
})

test('the listener of an aborted request is not called any more', async (t) => {
  for (const path of ['/before', '/during']) {
    const sockets: Socket[] = []
    const { ask } = await start(t, (_, { socket }) => sockets.push(socket))
    const asking = ask(path)
    await until(() => sockets.length === 1)
    const [socket] = sockets as [Socket]
    if (path === '/during') {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome')
      await until(() => asking.received.body === 'some')
    }
    const closed = once(socket, 'close')
    asking.abort()
    socket.write(OK)
    await closed
    assert.deepEqual([asking.received.ends, asking.received.failures], [0, []])
    assert.equal(asking.received.body, path === '/during' ? 'some' : '')
  }
})

test('an app is not read from while its listener is paused', async (t) => {
  const size = 50_000_000
  let written = 0
  const { ask } = await start(t, (_, { socket }) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
    const chunk = Buffer.alloc(100_000, 'x')
    function more() {
      while (written < size) {
        written += chunk.length
        if (!socket.write(chunk)) return void socket.once('drain', more)
      }
    }
    more()
  })
  const asking = ask()
  await until(() => asking.received.body.length > 0)
  asking.pause()
  const taken = await untilStill(() => asking.received.body.length)
  assert.equal(asking.received.body.length, taken)
  assert.ok(written < size, 'the app has to wait')
  asking.resume()
  await asking.outcome
  assert.equal(asking.received.body.length, size)
})

test('draining waits for requests in progress, and aborts those that take too long', async (t) => {
  const sockets: Socket[] = []
  const { ask, inFlight } = await start(t, (_, { socket }) => sockets.push(socket))
  const first = ask()
  const second = ask()
  await until(() => sockets.length === 2)
  let isDrained = false
  const drained = inFlight.drain('i', 300).then(() => {
    isDrained = true
  })
  sockets[0]?.write(OK)
  assert.match(await Promise.race([first.outcome, second.outcome]), /200 ok/)
  assert.equal(isDrained, false)
  await drained
  assert.deepEqual(new Set([await first.outcome, await second.outcome]), new Set(['200 ok', 'broken']))
  await inFlight.drain('i', 300)
})

test('an instance that gets no more requests keeps no connection', async (t) => {
  const { ask, connections, instances, pools } = await start(t, (_, { socket }) => socket.write(OK))
  await ask().outcome
  const [first] = connections as [Connection]
  const closed = once(first.socket, 'close')
  pools.retire('i')
  instances.retire('i')
  await closed
  // One that was under way meanwhile leaves none behind.
  const late = ask()
  pools.retire('i')
  assert.equal(await late.outcome, '200 ok')
  await once((connections[1] as Connection).socket, 'close')
})

test('what cannot be serialized as one request is not sent', async (t) => {
  const { ask, connections } = await start(t, (_, { socket }) => socket.write(OK))
  const bad: [path: string, headers: string[]][] = [
    ['/a b', []],
    ['/a\r\nX: y', []],
    ['/\u0141', []],
    ['/', ['x', 'a\r\nX-Evil: 1']],
    ['/', ['x', 'a\nX-Evil: 1']],
    ['/', ['x', 'a\0']],
    ['/', ['x\r\ny', 'a']],
    ['/', ['x', '\u0100']],
  ]
  for (const [path, headers] of bad) {
    assert.equal(
      await ask(path, { headers: ['host', 'app', ...headers] }).outcome,
      'broken',
      JSON.stringify([path, headers]),
    )
  }
  for (const { requests } of connections) assert.deepEqual(requests, [])
})

test('interim responses are reported, and a flood of them is a failure', async (t) => {
  const { ask } = await start(t, (request, { socket }) => {
    const count = Number(/\d+/.exec(request)?.[0])
    socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(count))
    socket.write(OK)
  })
  const few = ask('/3')
  assert.equal(await few.outcome, '200 ok')
  assert.equal(few.received.interims, 3)
  const flood = ask('/10000')
  assert.equal(await flood.outcome, 'broken')
  assert.ok(flood.received.interims <= 32)
})

test('an error in the listener is not taken for one of the app', async (t) => {
  const { instances, target, inFlight, troubles } = await start(t, (_, { socket }) => socket.write(OK))
  const fault = new Error('a fault in the listener')
  const { promise: failed, resolve } = Promise.withResolvers<Failure>()
  instances.ask(
    target,
    { method: 'GET', path: '/', headers: [] },
    {
      head() {
        throw fault
      },
      data: () => undefined,
      end: () => undefined,
      fail: resolve,
    },
  )
  assert.equal(await failed, 'broken')
  assert.deepEqual(troubles, [fault])
  await inFlight.drain('i', 0)
})

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import {
  ask,
  connectionsOf,
  HOST,
  serverTarget,
  startTestEdge,
  startUpstream,
  untilStill,
} from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'
import type { Limits } from '../limits.ts'
import { createRouteTable } from '../route-table.ts'
import type { EnvironmentRoutes, Target } from '../routes.ts'

const ASLEEP: Target = { kind: 'asleep', environment: 'e1', deployment: 'd1' }

async function sleepingEdge(t: TestContext, limits: Partial<Limits> = {}) {
  const woken: string[] = []
  const edge = await startTestEdge(
    t,
    { [HOST]: ASLEEP, 'other.localhost': { kind: 'asleep', environment: 'e1', deployment: 'd2' } },
    { limits, wake: (deployment) => woken.push(deployment) },
  )
  return { ...edge, woken }
}

const upstreamOf = (t: TestContext) =>
  startUpstream(t, async (asked, response) => response.end(`${asked.method} ${asked.url} ${await text(asked)}`))

test('requests wait for a sleeping deployment, which is asked for once, and lose nothing', async (t) => {
  const edge = await sleepingEdge(t)
  const upstream = await upstreamOf(t)
  const first = ask(edge.port, { path: '/first' })
  await until(() => edge.woken.length === 1)
  const others = Array.from({ length: 20 }, (_, n) => ask(edge.port, { method: 'POST', path: `/${n}`, body: 'body' }))
  const elsewhere = ask(edge.port, { host: 'other.localhost' })
  await until(() => edge.woken.length === 2)
  assert.deepEqual(edge.woken, ['d1', 'd2'])

  // A table that changes something else wakes no app, and asks for none again.
  edge.use({ [HOST]: ASLEEP, 'other.localhost': { kind: 'empty', environment: 'e1' } })
  assert.equal((await elsewhere).status, 404)
  assert.equal(edge.woken.length, 2)

  edge.use({ [HOST]: serverTarget(upstream.port) })
  assert.equal((await first).text, 'GET /first ')
  for (const [n, answer] of (await Promise.all(others)).entries()) assert.equal(answer.text, `POST /${n} body`)
  assert.equal(edge.woken.length, 2)
})

test('a deployment that sleeps again is asked for again, and so is another one under the same host', async (t) => {
  const edge = await sleepingEdge(t)
  const upstream = await upstreamOf(t)
  for (let round = 1; round <= 3; round++) {
    const answer = ask(edge.port)
    await until(() => edge.woken.length === round)
    edge.use({ [HOST]: serverTarget(upstream.port) })
    assert.equal((await answer).status, 200)
    edge.use({ [HOST]: ASLEEP })
  }
  const answer = ask(edge.port)
  await until(() => edge.woken.length === 4)
  edge.use({ [HOST]: { kind: 'asleep', environment: 'e1', deployment: 'd9' } })
  assert.equal(edge.woken.at(-1), 'd9')
  edge.use({ [HOST]: serverTarget(upstream.port) })
  assert.equal((await answer).status, 200)
})

test('requests that wait for a deployment are answered when it is down or gone', async (t) => {
  for (const [target, status] of [
    [{ kind: 'down', environment: 'e1', deployment: 'd1' }, 503],
    [{ kind: 'empty', environment: 'e1' }, 404],
    [undefined, 404],
  ] as const) {
    const edge = await sleepingEdge(t)
    const answer = ask(edge.port)
    await until(() => edge.woken.length === 1)
    edge.use(target ? { [HOST]: target } : {})
    assert.equal((await answer).status, status)
  }
})

test('requests that wait for one environment are bounded in number, and one that leaves makes a place free', async (t) => {
  const edge = await sleepingEdge(t, { pendingPerEnvironment: 2 })
  const upstream = await upstreamOf(t)
  const leaver = connect(edge.port, '127.0.0.1')
  leaver.write(`GET / HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
  await until(() => edge.woken.length === 1)
  const elsewhere = ask(edge.port, { host: 'other.localhost' })
  await until(() => edge.woken.length === 2)
  assert.equal((await ask(edge.port)).status, 503)
  leaver.destroy()
  while ((await connectionsOf(edge.http)) > 1) await new Promise((resolve) => setImmediate(resolve))
  let count = 0
  edge.http.on('request', () => count++)
  const answer = ask(edge.port)
  await until(() => count === 1)
  edge.use({ [HOST]: serverTarget(upstream.port), 'other.localhost': serverTarget(upstream.port) })
  assert.equal((await answer).status, 200)
  assert.equal((await elsewhere).status, 200)
})

const OTHERS: Record<string, Target> = Object.fromEntries(
  ['e2', 'e3', 'e4'].map((name) => [
    `${name}.localhost`,
    { kind: 'asleep', environment: name, deployment: `d-${name}` },
  ]),
)

/** Pipelined requests over one connection, whose responses are not read. */
function pipeline(t: TestContext, port: number, host: string, count: number) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(count))
  return socket
}

test('sixty connections that ask an app which never comes up keep no sleeping app of another down', async (t) => {
  const edge = await sleepingEdge(t)
  const upstream = await upstreamOf(t)
  edge.use({ [HOST]: ASLEEP, ...OTHERS })
  let asked = 0
  edge.http.on('request', () => asked++)
  for (let n = 0; n < 60; n++) pipeline(t, edge.port, HOST, 20)
  await until(() => asked === 1200)
  const victim = ask(edge.port, { host: 'e2.localhost' })
  await until(() => edge.woken.includes('d-e2'))
  edge.use({ [HOST]: ASLEEP, 'e2.localhost': serverTarget(upstream.port) })
  assert.equal((await victim).status, 200)
})

test('however many environments are waited for, one more is, and a visitor is refused only after the waking', async (t) => {
  const edge = await sleepingEdge(t, { pending: 2, pendingReserved: 1 })
  edge.use({ [HOST]: ASLEEP, ...OTHERS })
  const waiting = [HOST, 'e2.localhost', 'e3.localhost', 'e4.localhost'].map((host) => pipeline(t, edge.port, host, 1))
  await until(() => edge.woken.length === 4)
  assert.equal((await ask(edge.port, { host: 'e4.localhost' })).status, 503, 'the second of one has nothing reserved')
  assert.equal(waiting.filter((socket) => socket.bytesRead > 0).length, 0, 'all four still wait')
})

test('one connection and one client have so many requests that wait and no more, and what they ask for wakes', async (t) => {
  const ofConnection = await sleepingEdge(t, { pendingPerConnection: 3 })
  const upstream = await upstreamOf(t)
  const socket = pipeline(t, ofConnection.port, HOST, 5)
  await until(() => ofConnection.woken.length === 1)
  ofConnection.use({ [HOST]: serverTarget(upstream.port) })
  let answers = ''
  socket.on('data', (chunk) => {
    answers += chunk
  })
  await until(() => answers.split('HTTP/1.1 ').length === 6)
  assert.deepEqual(answers.match(/(?<=HTTP\/1\.1 )\d{3}/g), ['200', '200', '200', '503', '503'])

  const ofClient = await sleepingEdge(t, { pendingPerClient: 1, pendingReserved: 0 })
  ofClient.use({ [HOST]: ASLEEP, ...OTHERS })
  const first = pipeline(t, ofClient.port, HOST, 1)
  await until(() => ofClient.woken.length === 1)
  assert.equal((await ask(ofClient.port, { host: 'e2.localhost' })).status, 503)
  assert.deepEqual(ofClient.woken, ['d1', 'd-e2'])
  first.destroy()
  await until(async () => {
    let [asked, status] = [0, 0]
    ofClient.http.once('request', () => asked++)
    // The one that waits is cut off with the test.
    void ask(ofClient.port, { host: 'e2.localhost' }).then(
      (answer) => {
        status = answer.status
      },
      () => undefined,
    )
    await until(() => asked)
    await untilStill(() => status)
    return status === 0
  }, 'when one leaves, another may wait')
})

test('behind a trusted proxy each visitor counts for itself', async (t) => {
  const edge = await sleepingEdge(t, { pendingPerClient: 1, pendingReserved: 0 })
  edge.trust(['127.0.0.1'])
  let asked = 0
  edge.http.on('request', () => asked++)
  const by = (address: string) => ask(edge.port, { headers: { 'x-forwarded-for': `9.9.9.9, ${address}` } })
  const waiting = [by('192.0.2.1'), by('192.0.2.2'), by('2001:db8::1')]
  await until(() => asked === 3)
  assert.equal((await by('192.0.2.1')).status, 503)
  assert.equal((await by('2001:db8::2')).status, 503, 'of IPv6, a network is one client')
  const upstream = await upstreamOf(t)
  edge.use({ [HOST]: serverTarget(upstream.port) })
  for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200)
})

test('requests that wait too long are refused, and the next one asks again', async (t) => {
  const edge = await sleepingEdge(t, { pendingMs: 20 })
  assert.equal((await ask(edge.port)).status, 504)
  assert.equal((await ask(edge.port)).status, 504)
  assert.deepEqual(edge.woken, ['d1', 'd1'])
})

test('with saved routes no request is sent to a process that may be gone: they wait for news of their instance', async (t) => {
  const upstream = await upstreamOf(t)
  const hosts: EnvironmentRoutes['hosts'] = {
    [HOST]: { kind: 'server', environment: 'e1', deployment: 'd0' },
    'asleep.localhost': { kind: 'server', environment: 'e1', deployment: 'd1' },
    'empty.localhost': { kind: 'empty', environment: 'e1' },
  }
  const edge = await sleepingEdge(t)
  edge.changeRoutes(createRouteTable().setAllRoutes([{ environment: 'e1', hosts }]))
  let count = 0
  const [answer, sleeper] = [ask(edge.port), ask(edge.port, { host: 'asleep.localhost' })]
  edge.http.on('request', () => count++)
  await until(() => count === 2)
  assert.match((await ask(edge.port, { host: 'empty.localhost' })).text, /Nothing deployed yet/)
  assert.deepEqual(edge.woken, [], 'there is no listener yet')
  edge.use({ [HOST]: serverTarget(upstream.port), 'asleep.localhost': ASLEEP })
  assert.equal((await answer).status, 200)
  assert.deepEqual(edge.woken, ['d1'])
  edge.use({ 'asleep.localhost': serverTarget(upstream.port) })
  assert.equal((await sleeper).status, 200)
})

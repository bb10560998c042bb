/** The service asks servers on loopback, which an exception opens and nothing else does. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { readQuestion } from './dns/message.ts'
import type { Resolver } from './dns/resolvers.ts'
import { createReach } from './reach.ts'
import { DEFAULT_NETWORK_SETTINGS, readPolicy } from './settings.ts'

const block = { first: 0x0ac90000, bits: 22 }

const reach = (allowed: readonly string[], resolvers: readonly Resolver[] = []) =>
  createReach({
    policy: readPolicy({ ...DEFAULT_NETWORK_SETTINGS, allowed }),
    block,
    resolvers: async () => resolvers,
  })

async function startHttp(t: TestContext, status: number) {
  const asked: string[] = []
  const server = createHttpServer(({ method, url, headers }, response) => {
    asked.push(`${method} ${url} ${headers.host} ${headers.authorization ?? 'no credentials'}`)
    response.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, asked }
}

/** Answers every question with the addresses of the turn, and with the last of them from then on. */
async function startResolver(t: TestContext, ...turns: string[][]): Promise<Resolver> {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const addresses = turns.length > 1 ? turns.shift() : turns[0]
    const question = readQuestion(query)
    const head = Buffer.from(query.subarray(0, question?.end))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(addresses?.length ?? 0, 6)
    head.fill(0, 8, 12)
    const records = (addresses ?? []).map((each) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...each.split('.').map(Number)]),
    )
    socket.send(Buffer.concat([head, ...records]), port, address)
  })
  socket.bind({ address: '127.0.0.1', port: 0 })
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { address: '127.0.0.1', port: socket.address().port }
}

test('a server that answers is there, and one that fails is not', async (t) => {
  for (const [status, isThere] of [
    [200, true],
    [404, true],
    [501, true],
    [503, false],
  ] as const) {
    const { port, asked } = await startHttp(t, status)
    const answers = reach([`127.0.0.1:${port}`])
    assert.equal(await answers({ protocol: 'http', host: '127.0.0.1', port }), isThere, String(status))
    assert.deepEqual(asked, [`HEAD / 127.0.0.1:${port} no credentials`])
  }
})

test('a server that is down is not there, whatever is spoken at its port', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const answers = reach([`127.0.0.1:${port}`])
  assert.equal(await answers({ protocol: 'tcp', host: '127.0.0.1', port }), true)
  server.close()
  await once(server, 'close')
  for (const protocol of ['http', 'https', 'tcp'] as const)
    assert.equal(await answers({ protocol, host: '127.0.0.1', port }), false, protocol)
})

test('the service asks nothing that a build may not call, by address or by name', async (t) => {
  const { port, asked } = await startHttp(t, 200)
  const resolver = await startResolver(t, ['127.0.0.1', '169.254.169.254', '10.0.0.1'])
  const answers = reach([], [resolver])
  for (const host of ['127.0.0.1', 'inside.test', 'localhost', '::1', '0x7f000001', '2130706433'])
    for (const protocol of ['http', 'tcp'] as const) assert.equal(await answers({ protocol, host, port }), false, host)
  assert.deepEqual(asked, [])
})

test('the address that was looked at is the one that is called, however the name is answered next', async (t) => {
  const { port, asked } = await startHttp(t, 200)
  const other = await startHttp(t, 200)
  // The name leads to an allowed address once, and elsewhere from then on.
  const resolver = await startResolver(t, ['127.0.0.1'], ['127.0.0.2'])
  const answers = reach([`127.0.0.1:${port}`], [resolver])
  assert.equal(await answers({ protocol: 'http', host: 'rebinding.test', port }), true)
  assert.equal(await answers({ protocol: 'http', host: 'rebinding.test', port }), false)
  assert.deepEqual([asked.length, other.asked.length], [1, 0])
})

test('a name that cannot be resolved is not there', async () => {
  assert.equal(await reach([], [])({ protocol: 'https', host: 'gone.test', port: 443 }), false)
})

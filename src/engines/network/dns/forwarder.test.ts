/** The forwarder between a client and resolvers, all of them on loopback. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { Resolver as Client } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createNames, type Names } from '../contacts.ts'
import { openForwarder } from './forwarder.ts'
import { readQuestion } from './message.ts'
import { type Resolver, resolversIn } from './resolvers.ts'

/** Answers every question with one address. */
async function startResolver(t: TestContext, last: number): Promise<Resolver & { asked: string[] }> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const question = readQuestion(query)
    asked.push(question?.name ?? '')
    const head = Buffer.from(query.subarray(0, question?.end))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(1, 6)
    head.fill(0, 8, 12)
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last])
    socket.send(Buffer.concat([head, record]), port, address)
  })
  socket.bind({ address: '127.0.0.1', port: 0 })
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { address: '127.0.0.1', port: socket.address().port, asked }
}

async function start(t: TestContext, resolvers: readonly Resolver[], names?: Names) {
  const forwarder = await openForwarder({ address: '127.0.0.1', resolvers: async () => resolvers })
  t.after(() => forwarder.close())
  forwarder.admit('127.0.0.1', names)
  const client = new Client({ timeout: 1000, tries: 1 })
  client.setServers([`127.0.0.1:${forwarder.ports.udp}`])
  return { forwarder, client }
}

test('a question is passed on, and name and addresses are written down', async (t) => {
  const resolver = await startResolver(t, 7)
  const names = createNames()
  const { client } = await start(t, [resolver], names)
  assert.deepEqual(await client.resolve4('CMS.test'), ['192.0.2.7'])
  assert.deepEqual([names.asked(), names.of('192.0.2.7')], [['cms.test'], 'cms.test'])
})

test('a resolver that does not answer is skipped', async (t) => {
  const resolver = await startResolver(t, 7)
  const third = await startResolver(t, 8)
  const dead = createSocket('udp4')
  dead.bind({ address: '127.0.0.1', port: 0 })
  await once(dead, 'listening')
  const port = dead.address().port
  dead.close()
  const { client } = await start(t, [{ address: '127.0.0.1', port }, resolver, third])
  assert.deepEqual(await client.resolve4('cms.test'), ['192.0.2.7'])
  assert.deepEqual(third.asked, [])
})

test('without a resolver that answers, the client gets a failure', async (t) => {
  const { client } = await start(t, [])
  await assert.rejects(client.resolve4('cms.test'), { code: 'ESERVFAIL' })
})

test('queries for IPv6 addresses are answered without one, and no resolver is asked', async (t) => {
  const resolver = await startResolver(t, 7)
  const { client } = await start(t, [resolver])
  await assert.rejects(client.resolve6('cms.test'), { code: 'ENODATA' })
  assert.deepEqual(resolver.asked, [])
})

test('a name that cannot be written down is refused', async (t) => {
  const resolver = await startResolver(t, 7)
  const names = createNames()
  for (let count = 0; names.ask(`${count}.test`); ) count++
  const { client } = await start(t, [resolver], names)
  await assert.rejects(client.resolve4('one-more.test'), { code: 'EREFUSED' })
})

test('unknown clients get no answer, neither by UDP nor by TCP', async (t) => {
  const resolver = await startResolver(t, 7)
  const { forwarder, client } = await start(t, [resolver])
  forwarder.dismiss('127.0.0.1')
  await assert.rejects(client.resolve4('cms.test'), { code: 'ETIMEOUT' })
  const socket = connect({ host: '127.0.0.1', port: forwarder.ports.tcp })
  await once(socket, 'close')
  assert.deepEqual(resolver.asked, [])
})

test('malformed messages do not stop it', async (t) => {
  const resolver = await startResolver(t, 7)
  const { forwarder, client } = await start(t, [resolver])
  const noise = createSocket('udp4')
  for (const text of ['', 'x', 'a whole sentence of noise']) {
    await new Promise((resolve) => noise.send(text, forwarder.ports.udp, '127.0.0.1', resolve))
  }
  noise.close()
  const socket = connect({ host: '127.0.0.1', port: forwarder.ports.tcp })
  socket.end(Buffer.from([0, 3, 1, 2, 3]))
  await once(socket, 'close')
  assert.deepEqual(await client.resolve4('cms.test'), ['192.0.2.7'])
})

test('the resolvers of a machine are those it names, or itself', () => {
  const text = '# by hand\nnameserver 127.0.0.53\nnameserver  fe80::1%eth0\nnameserver nonsense\nsearch lan\n'
  assert.deepEqual(
    resolversIn(text).map(({ address }) => address),
    ['127.0.0.53', 'fe80::1%eth0'],
  )
  assert.deepEqual(resolversIn('search lan\n'), [{ address: '127.0.0.1', port: 53 }])
})

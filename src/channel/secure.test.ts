/** Connections between machines: who gets in, what those who do not can do, and what happens when the other side falls silent. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectPlainly, createServer as createPlainServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect, createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { startTcpProxy } from '../../test/support/channel/tcp-proxy.ts'
import { HAS_OPENSSL, makeCertificate, startTls } from '../../test/support/edge/tls.ts'
import { until } from '../../test/support/until.ts'
import { connectPeer, followPeer, type Greeting, joinToken, listenToPeers, type Peer, PROTOCOL } from './index.ts'
import { type Identity, readJoinToken } from './join-token.ts'

type Text = { text: string }
type TextPeer = Peer<Text, Text>

const KEY = 'a key that control processes share'
const HOST = '127.0.0.1'
const greetingOf = (role: string): Greeting => ({ protocol: PROTOCOL, role, process: '1', version: '1.0.0' })
const TOKEN = joinToken(KEY, { role: 'edge', name: 'a' })

async function listen(t: TestContext, name = 'control', isValid = (_: Identity) => true) {
  const peers: TextPeer[] = []
  const refused: unknown[] = []
  const server = await listenToPeers<Text, Text>({
    address: { host: HOST, port: 0, key: KEY, isValid },
    greeting: { ...greetingOf('control'), process: name },
    onPeer: (peer) => peers.push(peer),
    onRefused: (error) => refused.push(error),
  })
  t.after(() => server.close())
  return { ...server, port: server.port ?? 0, peers, refused: () => refused.map(String).join('\n') }
}

const dial = (port: number, token = TOKEN, role = 'edge') =>
  connectPeer<Text, Text>({ host: HOST, port, token }, greetingOf(role))

/** Also after an error. */
const closed = (socket: Socket) => new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))

/** The handshake alone, to go on with whatever bytes. */
async function handshake(port: number): Promise<TLSSocket> {
  const { secret } = readJoinToken(TOKEN)
  const socket = connect({
    ...{ host: HOST, port, minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' },
    pskCallback: () => ({ psk: secret, identity: 'edge/a' }),
    checkServerIdentity: () => undefined,
  })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}

test('with its token, a process gets in under its name, and messages arrive in both directions', async (t) => {
  const server = await listen(t)
  const peer = await dial(server.port)
  t.after(() => peer.close())
  await until(() => server.peers.length === 1)
  const [other] = server.peers
  assert.deepEqual([other?.node, other?.greeting.role, peer.greeting.role], ['a', 'edge', 'control'])
  const received: string[] = []
  peer.onMessage(({ text }) => received.push(text))
  other?.onMessage(({ text }) => other.send({ text: `${text} ${text}` }))
  const long = 'x'.repeat(5_000_000)
  peer.send({ text: 'line\n1' })
  peer.send({ text: long })
  await until(() => received.length === 2)
  assert.deepEqual(received, ['line\n1 line\n1', `${long} ${long}`])
})

test('a token that was revoked ends its connections and opens no other, and the next one of its name does', async (t) => {
  let generation = 0
  const server = await listen(t, 'control', (identity) => (identity.generation ?? 0) === generation)
  const peer = await dial(server.port)
  await until(() => server.peers.length === 1)
  generation = 1
  server.endInvalid()
  await peer.closed
  await assert.rejects(dial(server.port))
  assert.match(server.refused(), /the token of edge\/a was revoked/)
  const next = await dial(server.port, joinToken(KEY, { role: 'edge', name: 'a', generation: 1 }))
  t.after(() => next.close())
  await until(() => server.peers.length === 2)
  assert.equal(server.peers[1]?.node, 'a')
})

test('the keys of a connection come from an exchange of its own', async (t) => {
  const { port } = await listen(t)
  const socket = await handshake(port)
  t.after(() => socket.destroy())
  assert.equal(socket.getProtocol(), 'TLSv1.3')
  assert.match(JSON.stringify(socket.getEphemeralKeyInfo()), /X25519/)
})

test('a token of another key, another name or another role does not get in', async (t) => {
  const server = await listen(t)
  const secret = TOKEN.split(':')[2]
  const wrong = [joinToken('another key', { role: 'edge', name: 'a' }), `edge:b:${secret}`, `control:a:${secret}`]
  for (const token of wrong) await assert.rejects(dial(server.port, token), /alert|closed/i, token)
  assert.equal(server.peers.length, 0)
  assert.match(server.refused(), /binder does not verify/)
})

test('a token is good for no greeting of another role', async (t) => {
  const server = await listen(t)
  const peer = await dial(server.port, TOKEN, 'worker').catch(() => undefined)
  await peer?.closed
  await until(() => /the token of edge a is not good for the role worker/.test(server.refused()))
  assert.equal(server.peers.length, 0)
})

test('bytes that are no handshake end their connection, and no other', async (t) => {
  const server = await listen(t)
  const peer = await dial(server.port)
  t.after(() => peer.close())
  for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x40\x00'.padEnd(16_000, 'x'), '{"protocol":1}\n']) {
    const socket = connectPlainly(server.port, HOST)
    socket.on('error', () => undefined)
    socket.resume().write(bytes, 'latin1')
    await closed(socket)
  }
  assert.match(server.refused(), /the handshake of 127\.0\.0\.1 failed/)
  peer.send({ text: 'still here' })
  const received: Text[] = []
  server.peers[0]?.onMessage((message) => received.push(message))
  await until(() => received.length === 1)
})

test('a client without a pre-shared key is refused', async (t) => {
  const { port, peers } = await listen(t)
  const socket = connect({ host: HOST, port, rejectUnauthorized: false })
  socket.on('error', () => undefined)
  await closed(socket)
  assert.equal(peers.length, 0)
})

test('a greeting that is too long, is none, or does not come ends the connection', async (t) => {
  const server = await listen(t)
  for (const text of ['x'.repeat(5000), 'no json\n', 'null\n', '[]\n', '{"protocol":1}\n']) {
    const socket = await handshake(server.port)
    socket.resume().write(text)
    await closed(socket)
  }
  const silent = [connectPlainly(server.port, HOST), await handshake(server.port)]
  await Promise.all(silent.map((socket) => closed(socket.resume())))
  assert.equal(server.peers.length, 0)
})

test('garbage after the greeting ends the connection and not the process', async (t) => {
  const server = await listen(t)
  const socket = await handshake(server.port)
  socket.resume().write(`${JSON.stringify(greetingOf('edge'))}\n{"cut off\n`)
  await closed(socket)
  await server.peers[0]?.closed
})

test('connections that wait for a greeting push out the oldest of them, and do not keep others out', async (t) => {
  const server = await listen(t)
  let ended = 0
  const idle = Array.from({ length: 160 }, () => {
    const socket = connectPlainly(server.port, HOST)
    socket.on('error', () => undefined).on('close', () => ended++)
    return socket
  })
  t.after(() => {
    for (const socket of idle) socket.destroy()
  })
  await until(() => ended >= 32)
  const peer = await dial(server.port)
  assert.equal(peer.greeting.role, 'control')
  peer.close()
})

test('a server that has no key of the service is not trusted', async (t) => {
  const plain = createPlainServer((socket) => socket.on('error', () => undefined).end('SSH-2.0-OpenSSH_9.2\r\n'))
  const stranger = createServer({
    ...{ minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' },
    pskCallback: () => Buffer.alloc(32),
  })
  for (const server of [plain, stranger]) {
    server.listen(0, HOST)
    await once(server, 'listening')
    t.after(() => server.close())
    await assert.rejects(dial((server.address() as { port: number }).port))
  }
})

test('a server with a certificate that every client trusts is not one of the service', {
  skip: !HAS_OPENSSL,
}, async (t) => {
  const certificate = await makeCertificate(t, { names: ['localhost'] })
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, certificate.cert])
  t.after(() => setDefaultCACertificates(before))
  const { port } = await startTls(t, certificate)
  await assert.rejects(connectPeer({ host: 'localhost', port, token: TOKEN }, greetingOf('edge')), {
    message: `localhost:${port} is no control process of this service`,
  })
})

test('a connection is made with the next address when one is away, and again when it breaks', async (t) => {
  const [first, second] = [await listen(t, 'first'), await listen(t, 'second')]
  const closed = await listen(t)
  await closed.close()
  const peers: TextPeer[] = []
  const client = followPeer<Text, Text>({
    addresses: [first, closed, second].map(({ port }) => ({ host: HOST, port, token: TOKEN })),
    greeting: greetingOf('edge'),
    onPeer: (peer) => peers.push(peer),
  })
  t.after(() => client.stop())
  await until(() => peers.length === 1)
  const before = peers[0]?.greeting.process
  await (before === 'first' ? first : second).close()
  await until(() => peers.length === 2)
  assert.deepEqual([before, peers[1]?.greeting.process].toSorted(), ['first', 'second'])
  const numbers = [...first.peers, ...second.peers].map((peer) => peer.greeting.connection ?? 0)
  assert.ok(new Set(numbers).size === 2 && Math.min(...numbers) > 0, 'each connection has its number')
})

test('followers are spread over the addresses', async (t) => {
  const servers = [await listen(t, 'first'), await listen(t, 'second')]
  const addresses = servers.map(({ port }) => ({ host: HOST, port, token: TOKEN }))
  for (let count = 0; count < 40; count++) {
    const client = followPeer<Text, Text>({ addresses, greeting: greetingOf('edge'), onPeer: () => undefined })
    t.after(() => client.stop())
  }
  await until(() => servers.reduce((sum, { peers }) => sum + peers.length, 0) === 40)
  // By chance all forty choose the same one once in half a billion runs.
  for (const { peers } of servers) assert.ok(peers.length > 0)
})

test('a network that drops packets is noticed by both sides, which have not closed anything', async (t) => {
  const server = await listen(t)
  const way = await startTcpProxy(t, server)
  const peer = await dial(way.port)
  await until(() => server.peers.length === 1)
  way.cut()
  await Promise.all([peer.closed, server.peers[0]?.closed])
})

test('a connection without messages stays', async (t) => {
  const server = await listen(t)
  const way = await startTcpProxy(t, server)
  const peer = await dial(way.port)
  t.after(() => peer.close())
  let isClosed = false
  peer.closed.then(() => {
    isClosed = true
  })
  const before = way.chunks()
  // More than the number of pulses after which a silent one would be ended, from each side.
  await until(() => isClosed || way.chunks() >= before + 12)
  assert.equal(isClosed, false)
})

test('a follower that is stopped gives up a handshake that hangs', async (t) => {
  const hanging = createPlainServer((socket) => socket.on('error', () => undefined))
  hanging.listen(0, HOST)
  await once(hanging, 'listening')
  t.after(() => hanging.close())
  const client = followPeer<Text, Text>({
    addresses: [{ host: HOST, port: (hanging.address() as { port: number }).port, token: TOKEN }],
    greeting: greetingOf('edge'),
    onPeer: () => assert.fail('there is no process'),
  })
  await once(hanging, 'connection')
  await client.stop()
})

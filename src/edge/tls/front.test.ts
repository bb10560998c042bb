import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { send } from '../../../test/support/edge/cache.ts'
import { ask, HOST, readRaw } from '../../../test/support/edge/edge.ts'
import {
  askHttp2,
  askSecurely,
  edgeCertificate,
  openHttp2,
  type SecureApp,
  secureApp,
} from '../../../test/support/edge/secure.ts'
import { ticketKeys } from './tickets.ts'

const cached = (t: Parameters<typeof secureApp>[0]) =>
  secureApp(t, (_, response) => send(response, { 'cache-control': 'max-age=60' }))

/** A handshake, and what both sides chose. */
async function handshake(app: SecureApp, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({
    host: '127.0.0.1',
    port: app.securePort,
    servername: HOST,
    rejectUnauthorized: false,
    ...options,
  })
  await once(socket, 'secureConnect')
  return socket
}

test('HTTP/1.1 over TLS is answered by the app and from the cache, and by the fast path on a kept connection', async (t) => {
  const app = await cached(t)
  assert.equal((await askSecurely(app)).text, 'body')
  assert.match(String((await askSecurely(app)).headers['cache-status']), /hit/)
  const socket = await handshake(app, { ALPNProtocols: ['http/1.1'] })
  for (let n = 0; n < 3; n++) {
    socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    assert.match(await readRaw(socket, /body$/), /^HTTP\/1\.1 200 OK\r\n.*hit/s)
  }
  socket.destroy()
  assert.equal(app.asked.length, 1)
  assert.equal(app.asked[0]?.headers['x-forwarded-proto'], 'https')
})

test('a name without a certificate gets an alert, and never the certificate of another name', async (t) => {
  const app = await cached(t)
  for (const servername of ['unknown.localhost', '']) {
    await assert.rejects(handshake(app, { servername }), /alert/i)
  }
})

test('an answer of OCSP is sent to clients that ask, by both protocols, until its end', async (t) => {
  const app = await cached(t)
  const response = Buffer.from('an answer')
  const stapleOf = async (options: ConnectionOptions = {}) => {
    const socket = connect({
      ...{ host: '127.0.0.1', port: app.securePort, servername: HOST, rejectUnauthorized: false },
      requestOCSP: true,
      ...options,
    })
    const [[staple]] = await Promise.all([once(socket, 'OCSPResponse'), once(socket, 'secureConnect')])
    socket.destroy()
    return staple
  }
  const set = (until: number) => {
    const staple = { response: response.toString('base64'), until }
    app.secure.changeCertificates({ set: [{ ...app.certificate, staple }], removed: [] })
  }
  assert.equal(await stapleOf(), null)
  set(Date.now() + 60_000)
  assert.deepEqual(await stapleOf(), response)
  assert.deepEqual(await stapleOf({ maxVersion: 'TLSv1.2', ALPNProtocols: ['h2'] }), response)
  assert.equal((await askSecurely(app)).text, 'body')
  set(Date.now() - 1)
  assert.equal(await stapleOf(), null)
})

test('a wildcard covers one label, and the certificate of the name itself comes first', async (t) => {
  const app = await cached(t)
  const wildcard = await edgeCertificate(t, 'w', ['*.example.test'])
  const own = await edgeCertificate(t, 'o', ['own.example.test'])
  app.secure.changeCertificates({ set: [wildcard, own], removed: [] })
  const namesAt = async (servername: string) => {
    const socket = await handshake(app, { servername })
    const { subjectaltname } = socket.getPeerCertificate()
    socket.destroy()
    return subjectaltname
  }
  assert.equal(await namesAt('a.example.test'), 'DNS:*.example.test')
  assert.equal(await namesAt('own.example.test'), 'DNS:own.example.test')
  await assert.rejects(namesAt('a.b.example.test'))
  await assert.rejects(namesAt('example.test'))
  app.secure.changeCertificates({ set: [], removed: ['o'] })
  assert.equal(await namesAt('own.example.test'), 'DNS:*.example.test')
})

test('a renewed certificate is used for the next connection, and open ones go on', async (t) => {
  const app = await cached(t)
  const before = await handshake(app, { ALPNProtocols: ['http/1.1'] })
  const next = await edgeCertificate(t, 'c1', [HOST])
  app.secure.changeCertificates({ set: [next], removed: [] })
  const after = await handshake(app)
  assert.notEqual(after.getPeerCertificate().fingerprint256, before.getPeerCertificate().fingerprint256)
  before.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  assert.match(await readRaw(before, /body$/), /200 OK/)
  before.destroy()
  after.destroy()
})

test('protocols before TLS 1.2 and suites without forward secrecy are refused', async (t) => {
  const app = await cached(t)
  await assert.rejects(handshake(app, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))
  await assert.rejects(handshake(app, { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA:AES256-GCM-SHA384' }))
  const old = await handshake(app, { maxVersion: 'TLSv1.2' })
  assert.equal(old.getProtocol(), 'TLSv1.2')
  old.destroy()
})

test('a session is resumed at another edge with the same secret, and not with another one', async (t) => {
  const [one, other] = [await cached(t), await cached(t)]
  other.secure.changeCertificates({ set: [one.certificate], removed: [] })
  const secret = Buffer.alloc(32, 1)
  one.secure.setTicketSecret(secret)
  other.secure.setTicketSecret(secret)
  // A session of TLS 1.2 is complete with the handshake.
  const first = await handshake(one, { maxVersion: 'TLSv1.2' })
  const session = first.getSession() as Buffer
  first.destroy()
  const resumed = await handshake(other, { maxVersion: 'TLSv1.2', session })
  assert.equal(resumed.isSessionReused(), true)
  resumed.destroy()
  other.secure.setTicketSecret(Buffer.alloc(32, 2))
  const refused = await handshake(other, { maxVersion: 'TLSv1.2', session })
  assert.equal(refused.isSessionReused(), false)
  refused.destroy()
})

test('the keys of tickets change twice a day', () => {
  const secret = Buffer.alloc(32, 1)
  const day = Date.UTC(2026, 0, 1)
  assert.deepEqual(ticketKeys(secret, day), ticketKeys(secret, day + 11 * 3_600_000))
  assert.notDeepEqual(ticketKeys(secret, day), ticketKeys(secret, day + 12 * 3_600_000))
  assert.equal(ticketKeys(secret, day).length, 48)
})

test('plain HTTP leads to HTTPS where there is a certificate, and is served where there is none', async (t) => {
  const app = await cached(t)
  assert.equal((await ask(app.port)).status, 200)
  app.secure.redirectTo(443)
  const sent = await ask(app.port, { path: '/a?b', method: 'POST', body: 'x' })
  assert.deepEqual([sent.status, sent.headers.location], [308, `https://${HOST}/a?b`])
  app.secure.redirectTo(8443)
  assert.equal((await ask(app.port)).headers.location, `https://${HOST}:8443/`)
  app.secure.changeCertificates({ set: [], removed: ['c1'] })
  assert.equal((await ask(app.port)).status, 200)
})

test('the fast path leads to HTTPS as well, once there is a certificate', async (t) => {
  const app = await cached(t)
  await ask(app.port)
  app.secure.redirectTo(443)
  const socket = connectTcp(app.port, '127.0.0.1')
  socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  assert.match(await readRaw(socket, /\r\n\r\n/), /^HTTP\/1\.1 308 /)
  socket.destroy()
})

test('with HSTS, browsers are told to use HTTPS only, by the app, from the cache and by HTTP/2, and not by plain HTTP', async (t) => {
  const app = await secureApp(t, (request, response) => {
    const own = request.url === '/own' ? { 'strict-transport-security': 'max-age=1' } : {}
    send(response, { 'cache-control': 'max-age=60', ...own })
  })
  assert.equal((await askSecurely(app)).headers['strict-transport-security'], undefined)
  app.secure.setHsts(3600)
  const socket = await handshake(app, { ALPNProtocols: ['http/1.1'] })
  socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  assert.match(await readRaw(socket, /body$/), /hit.*Strict-Transport-Security: max-age=3600\r\n\r\nbody$/s)
  socket.destroy()
  const session = await openHttp2(t, app)
  assert.equal((await askHttp2(session)).headers['strict-transport-security'], 'max-age=3600')
  assert.equal((await askHttp2(session, { ':path': '/other' })).headers['strict-transport-security'], 'max-age=3600')
  for (let n = 0; n < 2; n++)
    assert.equal((await askHttp2(session, { ':path': '/own' })).headers['strict-transport-security'], 'max-age=1')
  assert.equal((await ask(app.port)).headers['strict-transport-security'], undefined)
})

test('a proxy in front that terminates TLS is not sent to HTTPS', async (t) => {
  const app = await cached(t)
  app.trust(['127.0.0.1'])
  app.secure.redirectTo(443)
  assert.equal((await ask(app.port, { headers: { 'x-forwarded-proto': 'https' } })).status, 200)
  assert.equal((await ask(app.port, { headers: { 'x-forwarded-proto': 'http' } })).status, 308)
})

test('a challenge of a CA is answered for any name, before everything else', async (t) => {
  const app = await cached(t)
  app.secure.redirectTo(443)
  app.secure.setChallenges({ http: { 'a-token': 'a-token.thumbprint' }, alpn: {} })
  for (const host of [HOST, 'unknown.localhost']) {
    const answer = await ask(app.port, { host, path: '/.well-known/acme-challenge/a-token' })
    assert.deepEqual([answer.status, answer.text], [200, 'a-token.thumbprint'])
  }
  const other = await ask(app.port, { host: 'unknown.localhost', path: '/.well-known/acme-challenge/__proto__' })
  assert.equal(other.status, 404)
  app.secure.setChallenges({ http: {}, alpn: {} })
  assert.equal((await ask(app.port, { path: '/.well-known/acme-challenge/a-token' })).status, 308)
})

test('a challenge by TLS-ALPN gets its own certificate, although the name has another one', async (t) => {
  const app = await cached(t)
  const proof = await edgeCertificate(t, 'p', [HOST])
  await assert.rejects(handshake(app, { ALPNProtocols: ['acme-tls/1'] }))
  app.secure.setChallenges({ http: {}, alpn: { [HOST]: proof } })
  const socket = await handshake(app, { ALPNProtocols: ['acme-tls/1'] })
  assert.equal(socket.alpnProtocol, 'acme-tls/1')
  assert.ok(proof.chain.includes(socket.getPeerCertificate().raw.toString('base64').slice(0, 60)))
  socket.destroy()
})

test('a connection that begins no handshake is closed', async (t) => {
  const app = await secureApp(t, (_, response) => send(response, {}), { requestHeadMs: 200 })
  const socket = connectTcp(app.securePort, '127.0.0.1')
  await once(socket, 'close')
})

test('an edge that is replaced closes connections over TLS that are not used, after the usual time', async (t) => {
  const limits = { requestHeadMs: 500, idleClientMs: 500, clientSweepMs: 50 }
  const app = await secureApp(t, (_, response) => send(response, { 'cache-control': 'max-age=60' }), limits)
  const unused = await handshake(app, { ALPNProtocols: ['http/1.1'] })
  const kept = await handshake(app, { ALPNProtocols: ['http/1.1'] })
  for (let n = 0; n < 2; n++) {
    kept.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await readRaw(kept, /body$/)
  }
  for (const socket of [unused, kept]) socket.resume()
  await app.retire()
})

test('one address has a bounded number of connections, before their handshake', async (t) => {
  const app = await secureApp(t, (_, response) => send(response, {}), { connectionsPerClient: 3 })
  const held = Array.from({ length: 3 }, () => connectTcp(app.securePort, '127.0.0.1'))
  await Promise.all(held.map((socket) => once(socket, 'connect')))
  const one = connectTcp(app.securePort, '127.0.0.1')
  one.on('error', () => undefined)
  await once(one, 'close')
  for (const socket of held) socket.destroy()
})

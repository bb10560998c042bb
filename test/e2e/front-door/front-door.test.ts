/** The service as the front door of a machine: real certificates, HTTPS, HTTP/2 and the portal, without a proxy in front. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSite, frontDoor, PORTAL, untilSecure, visitHttp2 } from '../../support/certificates/front-door.ts'
import { NEEDS_PEBBLE } from '../../support/certificates/pebble.ts'
import { ask } from '../../support/edge/edge.ts'
import { nodeServer } from '../../support/service/deploy.ts'
import { edgesOf, processesOf } from '../../support/service/processes.ts'
import { until } from '../../support/until.ts'

test(
  'a new environment and the portal have HTTPS by themselves, and plain HTTP leads there',
  NEEDS_PEBBLE,
  async (t) => {
    const { httpPort, tlsPort, start } = await frontDoor(t)
    const service = await start()
    const as = await service.login()
    const { host, url } = await createSite(service, as)
    assert.equal(url, `https://${host}:${tlsPort}`)
    const socket = await untilSecure(t, tlsPort, host)
    const certificate = socket.getPeerCertificate(true)
    assert.match(String(certificate.issuer.CN), /Pebble/)
    assert.equal(certificate.subjectaltname, `DNS:${host}`)
    assert.notEqual(certificate.issuerCertificate.fingerprint256, certificate.fingerprint256, 'with its intermediate')

    const answer = await visitHttp2(tlsPort, host)
    assert.deepEqual([answer.status, answer.text.includes('hello')], [200, true])
    const plain = await ask(httpPort, { host, path: '/a?b' })
    assert.deepEqual([plain.status, plain.headers.location], [308, `https://${host}:${tlsPort}/a?b`])

    await untilSecure(t, tlsPort, PORTAL)
    const portal = await visitHttp2(tlsPort, PORTAL, '/healthz')
    assert.equal(portal.status, 200)
    assert.match((await visitHttp2(tlsPort, PORTAL, '/openapi.json')).text, /"openapi"/)
    assert.equal((await ask(httpPort, { host: PORTAL, path: '/' })).status, 308)
    const webhook = await ask(httpPort, { host: PORTAL, path: '/wh/v1/x', method: 'POST' })
    assert.notEqual(webhook.status, 308)
    // The API sees the visitor and not the edge: metrics are for callers on this machine.
    assert.equal((await visitHttp2(tlsPort, PORTAL, '/metrics')).status, 401)
  },
)

test('certificates are kept over deaths, restarts and reloads, and are not ordered again', NEEDS_PEBBLE, async (t) => {
  const { tlsPort, pebble, start } = await frontDoor(t, { HEADLAND_EDGES: '2' })
  const service = await start()
  const as = await service.login()
  const { host } = await createSite(service, as, nodeServer('one'))
  const { fingerprint256 } = (await untilSecure(t, tlsPort, host)).getPeerCertificate()
  await untilSecure(t, tlsPort, PORTAL)
  const orders = () => pebble.log().match(/There are now \d+ orders|POST \/order-plz/g)?.length ?? 0
  const before = orders()

  // An edge that is started again, while the control process is away, serves with what it has saved.
  const { control } = processesOf(service.pid)
  const edges = edgesOf(service.pid)
  process.kill(control as number, 'SIGKILL')
  for (const edge of edges) process.kill(edge, 'SIGKILL')
  assert.equal((await untilSecure(t, tlsPort, host)).getPeerCertificate().fingerprint256, fingerprint256)
  await until(async () => (await visitHttp2(tlsPort, host).catch(() => undefined))?.text === 'one')

  await service.operator('reload')
  assert.equal((await visitHttp2(tlsPort, host)).text, 'one')

  assert.equal(await service.stop(), 0)
  const again = await start()
  assert.equal((await untilSecure(t, tlsPort, host)).getPeerCertificate().fingerprint256, fingerprint256)
  assert.equal((await visitHttp2(tlsPort, host)).text, 'one')
  assert.equal(orders(), before)
  await again.stop()
})

test('where port 80 is closed, names are proven by TLS-ALPN', NEEDS_PEBBLE, async (t) => {
  const { tlsPort, start } = await frontDoor(t, { HEADLAND_ACME_CHALLENGE: 'tls-alpn-01' })
  const service = await start()
  const { host } = await createSite(service, await service.login())
  const socket = await untilSecure(t, tlsPort, host)
  assert.match(String(socket.getPeerCertificate().issuer.CN), /Pebble/)
})

/** The service as the front door of a machine: real certificates, HTTPS, HTTP/2 and the portal, without a proxy in front. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { freePort, NEEDS_PEBBLE, startPebble } from '../../support/certificates/pebble.ts'
import { ask } from '../../support/edge/edge.ts'
import { readHttp2 } from '../../support/edge/secure.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startDns } from '../../support/machine/dns.ts'
import { deploy, nodeServer, page } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { edgesOf, processesOf } from '../../support/service/processes.ts'
import { type Login, startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const PORTAL = 'portal.example.com'

async function frontDoor(t: TestContext, more: Record<string, string> = {}) {
  const [httpPort, tlsPort] = [await freePort(), await freePort()]
  // Every name leads here.
  const dns = await startDns(t, { [PORTAL]: ['127.0.0.1'], '*.sites.example.com': ['127.0.0.1'] })
  const pebble = await startPebble(t, { httpPort, tlsPort, dns: dns.address })
  const [dataDir, folder] = [await temporaryFolder(t), await temporaryFolder(t)]
  const caFile = join(folder, 'ca.pem')
  await writeFile(caFile, pebble.ca)
  const settings = {
    HEADLAND_ACME_EMAIL: 'operator@example.com',
    HEADLAND_ACME_DIRECTORY: pebble.directory,
    HEADLAND_ACME_CA_FILE: caFile,
    HEADLAND_DOMAIN: 'sites.example.com',
    HEADLAND_EDGE_LISTEN: `127.0.0.1:${httpPort}`,
    HEADLAND_TLS_LISTEN: `127.0.0.1:${tlsPort}`,
    HEADLAND_PUBLIC_URL: `https://${PORTAL}:${tlsPort}`,
    HEADLAND_PUBLIC_ADDRESSES: '127.0.0.1',
    HEADLAND_DNS_SERVERS: dns.address,
    ...more,
  }
  const start = () => startService(t, { dataDir, settings })
  return { httpPort, tlsPort, pebble, dns, start }
}

/** Resolves when a visitor gets a certificate for this name, to a connection. */
async function untilSecure(t: TestContext, port: number, servername: string): Promise<TLSSocket> {
  const open = () =>
    new Promise<TLSSocket | undefined>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false }, () => resolve(socket))
      socket.on('error', () => resolve(undefined))
    })
  const socket = await until(open, `${servername} has a certificate`)
  t.after(() => socket.destroy())
  return socket
}

/** One request by HTTP/2. */
async function visit(port: number, host: string, path = '/') {
  const session = connectHttp2(`https://${host}:${port}`, {
    host: '127.0.0.1',
    servername: host,
    rejectUnauthorized: false,
  })
  session.on('error', () => undefined)
  try {
    return await readHttp2(session.request({ ':path': path }))
  } finally {
    session.destroy()
  }
}

async function site(service: TestService, as: Login, files = page('hello')) {
  const environment = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment.name, files)).error, undefined)
  return { ...environment, host: new URL(environment.url).hostname }
}

test(
  'a new environment and the portal have HTTPS by themselves, and plain HTTP leads there',
  NEEDS_PEBBLE,
  async (t) => {
    const { httpPort, tlsPort, start } = await frontDoor(t)
    const service = await start()
    const as = await service.login()
    const { host, url } = await site(service, as)
    assert.equal(url, `https://${host}:${tlsPort}`)
    const socket = await untilSecure(t, tlsPort, host)
    const certificate = socket.getPeerCertificate(true)
    assert.match(String(certificate.issuer.CN), /Pebble/)
    assert.equal(certificate.subjectaltname, `DNS:${host}`)
    assert.notEqual(certificate.issuerCertificate.fingerprint256, certificate.fingerprint256, 'with its intermediate')

    const answer = await visit(tlsPort, host)
    assert.deepEqual([answer.status, answer.text.includes('hello')], [200, true])
    const plain = await ask(httpPort, { host, path: '/a?b' })
    assert.deepEqual([plain.status, plain.headers.location], [308, `https://${host}:${tlsPort}/a?b`])

    await untilSecure(t, tlsPort, PORTAL)
    const portal = await visit(tlsPort, PORTAL, '/healthz')
    assert.equal(portal.status, 200)
    assert.match((await visit(tlsPort, PORTAL, '/openapi.json')).text, /"openapi"/)
    assert.equal((await ask(httpPort, { host: PORTAL, path: '/' })).status, 308)
    const webhook = await ask(httpPort, { host: PORTAL, path: '/wh/v1/x', method: 'POST' })
    assert.notEqual(webhook.status, 308)
    // The API sees the visitor and not the edge: metrics are for callers on this machine.
    assert.equal((await visit(tlsPort, PORTAL, '/metrics')).status, 401)
  },
)

test('certificates are kept over deaths, restarts and reloads, and are not ordered again', NEEDS_PEBBLE, async (t) => {
  const { tlsPort, pebble, start } = await frontDoor(t, { HEADLAND_EDGES: '2' })
  const service = await start()
  const as = await service.login()
  const { host } = await site(service, as, nodeServer('one'))
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
  await until(async () => (await visit(tlsPort, host).catch(() => undefined))?.text === 'one')

  await service.operator('reload')
  assert.equal((await visit(tlsPort, host)).text, 'one')

  assert.equal(await service.stop(), 0)
  const again = await start()
  assert.equal((await untilSecure(t, tlsPort, host)).getPeerCertificate().fingerprint256, fingerprint256)
  assert.equal((await visit(tlsPort, host)).text, 'one')
  assert.equal(orders(), before)
  await again.stop()
})

test('where port 80 is closed, names are proven by TLS-ALPN', NEEDS_PEBBLE, async (t) => {
  const { tlsPort, start } = await frontDoor(t, { HEADLAND_ACME_CHALLENGE: 'tls-alpn-01' })
  const service = await start()
  const { host } = await site(service, await service.login())
  const socket = await untilSecure(t, tlsPort, host)
  assert.match(String(socket.getPeerCertificate().issuer.CN), /Pebble/)
})

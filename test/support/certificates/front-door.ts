/** The service as the front door of a machine: certificates of a real CA, HTTPS, HTTP/2 and the portal, without a proxy. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { readHttp2 } from '../edge/secure.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { startDns } from '../machine/dns.ts'
import { deploy, type Files, page } from '../service/deploy.ts'
import { createEnvironment } from '../service/environment.ts'
import { type Login, startService, type TestService } from '../service/service.ts'
import { until } from '../until.ts'
import { freePort, startPebble } from './pebble.ts'

export const PORTAL = 'portal.example.com'

export async function frontDoor(t: Scope, more: Record<string, string> = {}) {
  const [httpPort, tlsPort] = [await freePort(), await freePort()]
  // Every name leads here.
  const dns = await startDns(t, { [PORTAL]: ['127.0.0.1'], '*.sites.example.com': ['127.0.0.1'] })
  const pebble = await startPebble(t, { httpPort, tlsPort, dns: dns.address, rootPort: await freePort() })
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
  return { httpPort, tlsPort, pebble, dns, settings, start }
}

/** Resolves when a visitor gets a certificate for this name, to a connection. */
export async function untilSecure(t: Scope, port: number, servername: string): Promise<TLSSocket> {
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
export async function visitHttp2(port: number, host: string, path = '/') {
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

export async function createSite(service: TestService, as: Login, files: Files = page('hello')) {
  const environment = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment.name, files)).error, undefined)
  return { ...environment, host: new URL(environment.url).hostname }
}

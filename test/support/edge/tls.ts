/** A real TLS server on the loopback, with a certificate that is made for it. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { type Scope, temporaryFolder } from '../folder.ts'

export const HAS_OPENSSL = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

type Certificate = {
  names: readonly string[]
}

/** A certificate that signs itself. */
export async function makeCertificate(t: Scope, { names }: Certificate) {
  const folder = await temporaryFolder(t)
  const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
      ...['-subj', '/O=Test Issuer/CN=test', '-addext', `subjectAltName=${names.map((name) => `DNS:${name}`)}`],
      ...['-keyout', keyFile, '-out', certificateFile],
    ],
    { stdio: 'pipe' },
  )
  return { key: await readFile(keyFile, 'utf8'), cert: await readFile(certificateFile, 'utf8') }
}

/** Records the server name (SNI) of each connection. */
export async function startTls(t: Scope, certificate: { key: string; cert: string }) {
  const names: string[] = []
  const server = createServer({
    ...certificate,
    SNICallback(name, callback) {
      names.push(name)
      callback(null)
    },
  })
  // A client that only reads the certificate disconnects at once.
  server.on('tlsClientError', () => undefined)
  server.on('secureConnection', (socket) => socket.on('error', () => undefined).resume())
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, names }
}

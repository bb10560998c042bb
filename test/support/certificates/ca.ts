/** A CA made with OpenSSL, whose responder for OCSP is OpenSSL behind a server on the loopback. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'

const run = promisify(execFile)

export type Ca = Awaited<ReturnType<typeof startCa>>

export async function startCa(t: Scope) {
  const folder = await temporaryFolder(t)
  const file = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await openssl(...['req', '-x509', ...newKey, '-days', '200', '-subj', '/O=Test CA/CN=Root'], ...to('ca'))
  await writeFile(file('index.txt'), '')
  let asked = 0
  /** What is sent in place of an answer. */
  let instead: Buffer | undefined

  async function respond(request: IncomingMessage, response: ServerResponse) {
    asked++
    const name = `request-${asked}.der`
    await writeFile(file(name), await buffer(request))
    if (!instead) {
      const signer = ['-rsigner', 'ca.pem', '-rkey', 'ca.key', '-CA', 'ca.pem', '-ndays', '4']
      await openssl('ocsp', '-index', 'index.txt', ...signer, '-reqin', name, '-respout', `${name}.answer`)
    }
    response.setHeader('content-type', 'application/ocsp-response')
    response.end(instead ?? (await readFile(file(`${name}.answer`))))
  }
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => response.writeHead(500).end(String(error)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  let issued = 0

  /** A certificate with its chain. Unless told otherwise, it asks for stapling. */
  async function issue(names: readonly string[], { mustStaple = true, responder = '127.0.0.1' } = {}) {
    const serial = 0x1000 + ++issued
    const id = `leaf-${serial}`
    const extensions = [
      `subjectAltName=${names.map((name) => `DNS:${name}`)}`,
      `authorityInfoAccess=OCSP;URI:http://${responder}:${port}/ocsp`,
      'extendedKeyUsage=serverAuth',
      ...(mustStaple ? ['tlsfeature=status_request'] : []),
    ]
    await writeFile(file(`${id}.ext`), extensions.join('\n'))
    await openssl('req', ...newKey, '-subj', `/CN=${serial}`, '-keyout', `${id}.key`, '-out', `${id}.csr`)
    const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-set_serial', String(serial)]
    await openssl(
      ...['x509', '-req', '-in', `${id}.csr`, ...signer, '-days', '90'],
      ...['-extfile', `${id}.ext`, '-out', `${id}.pem`],
    )
    await setStatus(serial, 'V')
    const [leaf, ca, key] = await Promise.all(
      [`${id}.pem`, 'ca.pem', `${id}.key`].map((name) => readFile(file(name), 'utf8')),
    )
    return { cert: `${leaf}${ca}`, leaf: leaf as string, key: key as string, serial }
  }

  const statuses = new Map<number, 'V' | 'R'>()
  async function setStatus(serial: number, status: 'V' | 'R') {
    statuses.set(serial, status)
    const lines = [...statuses].map(([number, is]) => {
      const revoked = is === 'R' ? '200101000000Z' : ''
      return [is, '401231235959Z', revoked, number.toString(16).toUpperCase(), 'unknown', `/CN=${number}`].join('\t')
    })
    await writeFile(file('index.txt'), `${lines.join('\n')}\n`)
  }

  return {
    cert: await readFile(file('ca.pem'), 'utf8'),
    certFile: file('ca.pem'),
    issue,
    revoke: (serial: number) => setStatus(serial, 'R'),
    /** An answer as the responder sends it. */
    async answer(request: Buffer): Promise<Buffer> {
      const response = await fetch(`http://127.0.0.1:${port}/ocsp`, { method: 'POST', body: new Uint8Array(request) })
      return Buffer.from(await response.arrayBuffer())
    },
    answerWith(bytes: Buffer | undefined) {
      instead = bytes
    },
    /** How often the responder was asked. */
    asked: () => asked,
    port,
  }
}

const to = (name: string): string[] => ['-keyout', `${name}.key`, '-out', `${name}.pem`]

/** Which certificate the server at one of the service's own addresses sends for a host name, and whether browsers accept it. */
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import { toRfc3339 } from '../base/index.ts'
import type { resources } from '../contract/index.ts'

type CertificateQuery = { address: string; port: number; name: string; now?(): number }

/** A proxy that gets a certificate at the first handshake takes some seconds for it. */
const HANDSHAKE_MS = 8000
const ISSUER_LENGTH = 100

export function readCertificate({
  address,
  port,
  name,
  now = Date.now,
}: CertificateQuery): Promise<resources.CertificateCheck> {
  return new Promise((resolve) => {
    let isConnected = false
    // No data is sent to the server, so an invalid certificate does no harm: it is what is to be reported.
    const socket = connect({ host: address, port, servername: name, rejectUnauthorized: false, timeout: HANDSHAKE_MS })
    const end = (check: resources.CertificateCheck) => {
      clearTimeout(timeout)
      socket.destroy()
      resolve(check)
    }
    const timeout = setTimeout(() => end({ state: 'NO_ANSWER' }), HANDSHAKE_MS)
    socket.once('connect', () => {
      isConnected = true
    })
    socket.once('secureConnect', () => end(judge(socket, name, now())))
    // A server that accepts the connection and aborts the handshake has no certificate for the name.
    socket.on('error', () => end({ state: isConnected ? 'MISSING' : 'NO_ANSWER' }))
    socket.once('close', () => end({ state: isConnected ? 'MISSING' : 'NO_ANSWER' }))
  })
}

function judge(socket: TLSSocket, name: string, now: number): resources.CertificateCheck {
  const certificate = socket.getPeerCertificate()
  if (!certificate.valid_to) return { state: 'MISSING' }
  const issuer = issuerOf(certificate)
  return {
    state: stateOf(socket, certificate, name, now),
    ...(issuer ? { issuer } : {}),
    validUntil: toRfc3339(Date.parse(certificate.valid_to)),
  }
}

function stateOf(
  socket: TLSSocket,
  certificate: PeerCertificate,
  name: string,
  now: number,
): resources.CertificateState {
  // Checked first: where the proxy falls back to another certificate, that is what has to be fixed.
  if (checkServerIdentity(name, certificate)) return 'WRONG_NAME'
  if (Date.parse(certificate.valid_to) < now) return 'EXPIRED'
  if (Date.parse(certificate.valid_from) > now) return 'NOT_YET_VALID'
  if (socket.authorized) return 'VALID'
  return String(socket.authorizationError).includes('SELF_SIGNED') ? 'SELF_SIGNED' : 'UNTRUSTED'
}

function issuerOf({ issuer }: PeerCertificate): string | undefined {
  const [name] = [issuer?.O ?? issuer?.CN ?? []].flat()
  return name?.slice(0, ISSUER_LENGTH)
}

/**
 * Accepts TLS connections: picks the certificate by the name that the client asks for, and passes the connection on by the
 * protocol that both chose. A name without a certificate gets an alert and no certificate of another name.
 */
import { createServer, type SecureContext, type TLSSocket } from 'node:tls'
import type { Limits } from '../limits.ts'
import { toHost } from '../routes.ts'
import { type Certificates, PROTOCOL } from './certificates.ts'
import { nextTicketKeys, ticketKeys } from './tickets.ts'

type Parts = {
  limits: Limits
  certificates: Certificates
  onHttp1(socket: TLSSocket): void
  onHttp2(socket: TLSSocket): void
  report(error: unknown): void
}

/** A timer of Node takes no longer time. */
const MAX_TIMER_MS = 2 ** 31 - 1

const ACME = 'acme-tls/1'
const HTTP = ['h2', 'http/1.1']

export function createTlsListener({ limits, certificates, onHttp1, onHttp2, report }: Parts) {
  let rotation: NodeJS.Timeout | undefined

  /** Connections of a CA that checks a challenge, for which the certificate of their name is another one. */
  const challenged = new WeakMap<TLSSocket, SecureContext>()

  /** Without a name, which browsers always send, there is nothing to choose by. */
  function chooseCertificate(this: TLSSocket, name: string, done: (error: null, context?: SecureContext) => void) {
    try {
      done(null, challenged.get(this) ?? certificates.contextOf(toHost(name)))
    } catch (error) {
      report(error)
      done(null)
    }
  }

  /** Called before the certificate is chosen. Undefined: there is no protocol that both know. */
  function chooseProtocol(this: TLSSocket, { servername, protocols }: { servername: string; protocols: string[] }) {
    if (protocols.length !== 1 || protocols[0] !== ACME) return HTTP.find((protocol) => protocols.includes(protocol))
    const context = certificates.challengeOf(toHost(servername))
    if (!context) return undefined
    challenged.set(this, context)
    return ACME
  }

  const server = createServer({
    ...PROTOCOL,
    SNICallback: chooseCertificate,
    ALPNCallback: chooseProtocol,
    handshakeTimeout: limits.requestHeadMs,
  })
  server.maxConnections = limits.connections
  server.on('tlsClientError', (_, socket) => socket.destroy())
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined)
    if (socket.alpnProtocol === ACME) return void socket.end()
    if (socket.alpnProtocol === 'h2') onHttp2(socket)
    else onHttp1(socket)
  })

  /** Sends what the responder of a CA answered. Each handshake costs a little more with it, so it is there only if needed. */
  function staple(leaf: Buffer, _issuer: Buffer, done: (error: null, response?: Buffer) => void) {
    done(null, certificates.stapleOf(leaf, Date.now()))
  }

  function certificatesChanged() {
    server.off('OCSPRequest', staple)
    if (certificates.hasStaples()) server.on('OCSPRequest', staple)
  }

  /** The secret of session tickets, which all edges share. */
  function setTicketSecret(secret: Buffer) {
    clearTimeout(rotation)
    const now = Date.now()
    server.setTicketKeys(ticketKeys(secret, now))
    rotation = setTimeout(() => setTicketSecret(secret), Math.min(nextTicketKeys(now) - now, MAX_TIMER_MS)).unref()
  }

  return {
    server,
    certificatesChanged,
    setTicketSecret,
    /** Accepts no new connection; resolves when the last one is closed. */
    close(): Promise<void> {
      clearTimeout(rotation)
      if (!server.listening) return Promise.resolve()
      return new Promise((resolve) => void server.close(() => resolve()))
    },
  }
}

export type TlsListener = ReturnType<typeof createTlsListener>

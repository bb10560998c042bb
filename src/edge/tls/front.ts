/** The front of an edge for HTTPS: its certificates, its TLS listener, and what plain HTTP answers in its place. */
import type { Server } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Connections } from '../connections.ts'
import type { PlainRequest } from '../fast-path/request.ts'
import type { Visit } from '../http/visit.ts'
import type { Wire } from '../http/wire.ts'
import { createHttp2Sessions } from '../http2/sessions.ts'
import type { Limits } from '../limits.ts'
import { toHost } from '../routes.ts'
import { createCertificates } from './certificates.ts'
import { createHsts } from './hsts.ts'
import { createTlsListener } from './listener.ts'
import type { EdgeCertificate, EdgeChallenges } from './types.ts'

export type CertificateChanges = { set: readonly EdgeCertificate[]; removed: readonly string[] }

type Parts = {
  http: Server
  limits: Limits
  connections: Connections
  answer(request: PlainRequest, socket: TLSSocket): Wire | undefined
  report(error: unknown): void
}

const CHALLENGES = '/.well-known/acme-challenge/'

export function createSecureFront({ http, limits, connections, answer, report }: Parts) {
  const certificates = createCertificates()
  const hsts = createHsts()
  let challenges: EdgeChallenges['http'] = {}
  /** The port that visitors use, once TLS is served. */
  let publicPort: number | undefined

  const sessions = createHttp2Sessions({
    http,
    limits,
    connections,
    mayShare: (name, authority) => toHost(authority) === name || certificates.isShared(name, toHost(authority)),
    answer,
    report,
  })
  const listener = createTlsListener({
    limits,
    certificates,
    onHttp1: (socket) => http.emit('connection', socket),
    onHttp2: sessions.accept,
    report,
  })
  // Counted from its first byte on, since a handshake costs most.
  listener.server.on('connection', connections.admit)

  return {
    server: listener.server,
    setTicketSecret: listener.setTicketSecret,
    setHsts: hsts.setHsts,
    changeHeaders: hsts.changeHeaders,
    changeWire: hsts.changeWire,
    changeCertificates(changes: CertificateChanges) {
      certificates.change(changes)
      listener.certificatesChanged()
    },
    certificates: certificates.all,

    setChallenges(next: EdgeChallenges) {
      challenges = next.http
      certificates.setChallenges(next.alpn)
    },

    /** From now on, plain HTTP leads to HTTPS where there is a certificate. */
    redirectTo(port: number) {
      publicPort = port
    },

    /** Whether a request by plain HTTP to this host is to be sent to HTTPS. */
    isElsewhere: (host: string): boolean => publicPort !== undefined && certificates.has(host),

    isChallenge: (path: string): boolean => path.startsWith(CHALLENGES),

    /** Whether it was answered: a CA checks a name by plain HTTP (RFC 8555, section 8.3). */
    answerChallenge({ path, request, response }: Visit): boolean {
      if (!path.startsWith(CHALLENGES) || (request.method !== 'GET' && request.method !== 'HEAD')) return false
      const token = path.slice(CHALLENGES.length)
      const authorization = Object.hasOwn(challenges, token) ? challenges[token] : undefined
      if (authorization === undefined) return false
      response.writeHead(200, {
        'content-type': 'application/octet-stream',
        'cache-control': 'no-store',
        'content-length': Buffer.byteLength(authorization),
      })
      response.end(request.method === 'HEAD' ? undefined : authorization)
      return true
    },

    /** 308 keeps the method and the body. */
    sendToHttps({ host, path, response }: Visit) {
      const port = publicPort === 443 ? '' : `:${publicPort}`
      response.writeHead(308, {
        location: `https://${host}${port}${path === '*' ? '/' : path}`,
        'cache-control': 'public, max-age=0, must-revalidate',
        'content-length': 0,
      })
      response.end()
    },

    /** Accepts no new connection, and resolves when the last one is closed. */
    close(): Promise<void> {
      sessions.close()
      return listener.close()
    },
  }
}

export type SecureFront = ReturnType<typeof createSecureFront>

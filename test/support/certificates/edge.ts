/**
 * Stands for the edges: a real HTTP server that answers HTTP-01, and a real TLS server that answers TLS-ALPN-01 and, for other
 * clients, with the certificates that it was given.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSecureContext, createServer as createTlsServer } from 'node:tls'
import type { EdgeCertificate, EdgeChallenges, EdgeTls } from '../../../src/edge/index.ts'
import type { Scope } from '../folder.ts'

const PREFIX = '/.well-known/acme-challenge/'

export async function startTestEdge(t: Scope) {
  let certificates: readonly EdgeCertificate[] = []
  let challenges: EdgeChallenges = { http: {}, alpn: {} }
  const asked: string[] = []
  const sets: { certificates: number; challenges: number } = { certificates: 0, challenges: 0 }

  const http = createServer((request, response) => {
    const token = request.url?.startsWith(PREFIX) ? request.url.slice(PREFIX.length) : ''
    asked.push(`http-01 ${request.headers.host?.split(':')[0]}`)
    const answer = challenges.http[token]
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/octet-stream' }).end(answer)
  })
  const tls = createTlsServer(
    {
      ALPNCallback: ({ protocols }) => protocols.find((each) => each === 'acme-tls/1'),
      SNICallback(name, callback) {
        const proof = challenges.alpn[name]
        if (proof) asked.push(`tls-alpn-01 ${name}`)
        const found = proof ?? certificates.find(({ names }) => names.includes(name))
        callback(null, found ? createSecureContext({ cert: found.chain, key: found.key }) : undefined)
      },
    },
    (socket) => socket.on('error', () => undefined).end(),
  )
  tls.on('tlsClientError', () => undefined)
  for (const server of [http, tls]) {
    t.after(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
  }
  const edge: EdgeTls = {
    async setCertificates(given) {
      certificates = given
      sets.certificates++
    },
    async setChallenges(given) {
      challenges = given
      sets.challenges++
    },
  }
  return {
    edge,
    httpPort: (http.address() as AddressInfo).port,
    tlsPort: (tls.address() as AddressInfo).port,
    /** What the CA asked for. */
    asked,
    sets,
    certificates: () => certificates,
    challenges: () => challenges,
  }
}

export type TestEdge = Awaited<ReturnType<typeof startTestEdge>>

/**
 * The one way out of the sandbox of a picture: a Unix socket at which the service answers with what the edge has for the names of
 * one site. A request for any other name is refused, so neither the API nor the site of another tenant is reached, also by a program
 * that has broken out of the browser.
 */
import { chmod, chown, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as requestByHttp, type ServerResponse } from 'node:http'
import { request as requestByHttps } from 'node:https'
import { SERVICE_PEER } from '../edge/index.ts'
import type { Job } from '../engines/index.ts'

export type EdgePorts = {
  /** An address at which this machine reaches the edge. */
  host: string
  port: number
  /** Where it serves HTTPS itself. */
  tls?: { host: string; port: number } | undefined
}

type Parts = {
  path: string
  edge: EdgePorts
  /** The names of the site, in lower case. */
  hosts: readonly string[]
  user: Job['user']
}

export const RELAY_LIMITS = { connections: 32, bytes: 64 * 1024 ** 2, waitMs: 30_000 }

/** Never what a page has chosen: the peer of the edge may be trusted there as a proxy. */
const FORWARDED = /^(?:forwarded|x-forwarded-.*|x-headland-.*|proxy-.*|connection|keep-alive|upgrade|host)$/

export async function openRelay({ path, edge, hosts, user }: Parts) {
  let bytes = 0
  let hasPage = false

  function answer(request: IncomingMessage, response: ServerResponse) {
    response.on('error', () => response.destroy())
    const authority = request.headers.host ?? ''
    const host = authority.replace(/:\d+$/, '').toLowerCase()
    const target = request.url ?? ''
    if (!hosts.includes(host) || !target.startsWith('/')) return response.writeHead(403).end()
    const isSecure = request.headers['x-headland-protocol'] === 'https'
    const tls = isSecure ? edge.tls : undefined
    const onward = (tls ? requestByHttps : requestByHttp)({
      ...(tls ?? { host: edge.host, port: edge.port }),
      ...localAddressFor(tls?.host ?? edge.host),
      method: request.method,
      path: target,
      headers: {
        ...Object.fromEntries(Object.entries(request.headers).filter(([name]) => !FORWARDED.test(name))),
        host: authority,
        'x-forwarded-proto': isSecure ? 'https' : 'http',
      },
      agent: false,
      timeout: RELAY_LIMITS.waitMs,
      // The edge of this machine: nothing secret is sent or received.
      ...(tls ? { servername: host, rejectUnauthorized: false } : {}),
    })
    onward.once('response', (received) => {
      const { statusCode = 502, headers } = received
      if (statusCode === 200 && /^(?:text\/html|application\/xhtml\+xml)\b/i.test(headers['content-type'] ?? ''))
        hasPage = true
      response.writeHead(statusCode, withoutHops(headers))
      received.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > RELAY_LIMITS.bytes) response.destroy()
      })
      received.on('error', () => response.destroy())
      received.pipe(response)
    })
    onward.on('timeout', () => onward.destroy())
    onward.on('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  }

  const server = createServer(answer)
  server.maxConnections = RELAY_LIMITS.connections
  server.on('upgrade', (_, socket) => socket.destroy())
  await rm(path, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  await chmod(path, 0o600)
  if (user) await chown(path, user.uid, user.gid)

  return {
    /** Whether the site has answered with a page: without one, the browser shows an error of its own. */
    hasPage: () => hasPage,
    async close() {
      server.close()
      server.closeAllConnections()
      await rm(path, { force: true })
    },
  }
}

/** By it the edge knows that the service asks, and no visitor. */
const localAddressFor = (host: string) => (host.includes(':') ? {} : { localAddress: SERVICE_PEER })

function withoutHops(headers: IncomingMessage['headers']) {
  const { connection, 'keep-alive': keepAlive, 'transfer-encoding': encoding, ...others } = headers
  return others
}

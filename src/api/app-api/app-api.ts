/**
 * The listener for calls of running apps. It serves nothing of the public API. Apps can reach it; builds and other
 * machines cannot. The token alone identifies the caller. The answer is the same for another tenant's environment, for
 * one that does not exist, and for an invalid token.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net'
import type { Environments, Tokens } from '../../apps/index.ts'
import type { Clock, Log, Sharers } from '../../base/index.ts'
import { errorBody, LIMITS, PROBLEMS, Problem } from '../../contract/index.ts'
import type { Purges, Revalidations } from '../../deployments/index.ts'
import type { Kv } from '../../kv/index.ts'
import { doing } from '../../watchdog/index.ts'
import { limitConnections } from '../connections.ts'
import { sendClientError, toProblem } from '../errors.ts'
import {
  APPS_API,
  createInAppCalls,
  type InAppCall,
  type InAppResponse,
  KV_STORE,
  readTarget,
  type Wanted,
} from './calls.ts'
import { type Caller, createRates, type Rates } from './rates.ts'

/** How long a request may take to arrive, and how long a connection may be idle. */
const TIMES_MS = { headers: 15_000, request: 30_000, still: 30_000, keepAlive: 65_000 }
/** How often slow connections are checked. */
const LOOK_MS = 5000
/**
 * Limits for one app, which has an address of its own, and for all apps, so that the awake apps of one account cannot
 * take every connection.
 */
const MAX_CONNECTIONS = { app: 128, all: 16_384 }

type Parts = {
  clock: Clock
  log: Log
  environments: Pick<Environments, 'ownerOf'>
  tokens: Pick<Tokens, 'environmentOf'>
  purges: Pick<Purges, 'byApp'>
  revalidations: Pick<Revalidations, 'read'>
  values: Kv
  rates?: Rates
  /** Control processes, which share the rates. */
  sharers?: Sharers
}

export function createInAppServer(parts: Parts) {
  const { clock, log, environments, tokens, purges, revalidations, values, ...given } = parts
  const rates = createRates({ clock, ...given })
  const calls = createInAppCalls({ purges, revalidations, values, rates })

  const server = createServer(
    {
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: TIMES_MS.headers,
      requestTimeout: TIMES_MS.request,
      connectionsCheckingInterval: LOOK_MS,
    },
    async (request, response) => {
      const released: (() => void)[] = []
      response.once('close', () => {
        for (const release of released) release()
      })
      try {
        send(response, await answer(request, (release) => released.push(release)))
      } catch (error) {
        // A caller that closed the connection does not wait for an answer.
        if (response.destroyed || request.errored) return response.destroy()
        const problem = toProblem(error)
        if (PROBLEMS[problem.reason].fault === 'service') log.error({ err: problem.cause ?? problem }, problem.message)
        sendProblem(request, response, problem)
      }
    },
  )
  const others: NetServer[] = []
  server.keepAliveTimeout = TIMES_MS.keepAlive
  server.timeout = TIMES_MS.still
  server.maxConnections = MAX_CONNECTIONS.all
  limitConnections(server, MAX_CONNECTIONS.app)
  server.on('clientError', sendClientError)

  async function answer(request: IncomingMessage, onRelease: InAppCall['onRelease']): Promise<InAppResponse> {
    const wanted = readTarget(request.url ?? '')
    if (!(wanted.methods as readonly string[]).includes(request.method ?? '')) {
      throw new Problem('METHOD_NOT_ALLOWED', undefined, { metadata: { allow: wanted.methods.join(', ') } })
    }
    const caller = await admit(request, wanted)
    doing(`${wanted.use} of environment ${caller.environmentId}`)
    const call = { caller, request, onRelease }
    if (wanted.use === 'kv-store') return calls.value(call, wanted.key)
    return wanted.methods[0] === 'GET' ? calls.revalidated(call) : calls.purge(call)
  }

  /**
   * The rate is counted before the database is asked, and the token is checked before the count: so no app uses up the
   * rate of another.
   */
  async function admit(request: IncomingMessage, wanted: Wanted): Promise<Caller> {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    const id = tokens.environmentOf(token, wanted.use)
    if (id === undefined || (wanted.use === 'apps-api' && wanted.environmentId !== id)) throw new Problem('TOKEN_WRONG')
    rates.call(id, wanted.use)
    const accountId = await environments.ownerOf(id)
    if (accountId === undefined) throw new Problem('TOKEN_WRONG')
    rates.callOfAccount(accountId, wanted.use)
    return { environmentId: id, accountId }
  }

  return {
    /** On an address, or on a socket that another process has opened. Resolves with where apps reach it. */
    async listen(on: { host: string; port: number } | { fd: number }): Promise<Listening & { urls: InAppUrls }> {
      server.listen(on)
      await once(server, 'listening')
      const { address, port } = server.address() as AddressInfo
      return { host: address, port, urls: inAppUrlsAt(`http://${address}:${port}`) }
    },

    /** Also on another socket that another process has opened. */
    async listenAlso({ fd }: { fd: number }): Promise<Listening> {
      const other = createNetServer((socket) => server.emit('connection', socket))
      others.push(other)
      other.listen({ fd })
      await once(other, 'listening')
      const { address, port } = other.address() as AddressInfo
      return { host: address, port }
    },

    /** To be called when no app runs any more. */
    async close() {
      for (const other of others) other.close()
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

type Listening = { host: string; port: number }

export type InAppUrls = { appsApi: string; kvStore: string }

/** Where apps call the service that is reached at this origin. */
export const inAppUrlsAt = (origin: string): InAppUrls => ({
  appsApi: `${origin}${APPS_API}`,
  kvStore: `${origin}${KV_STORE}`,
})

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

function send(response: ServerResponse, { status, body }: InAppResponse) {
  if (body === undefined) return response.writeHead(status).end()
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  response.writeHead(status, { ...JSON_TYPE, 'content-length': length }).end(body)
}

/** The rest of a body is read up to this many bytes; otherwise the answer would be lost with the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024

/**
 * A caller that is refused or calls too often loses the connection: a new one takes time, and the firewall limits how
 * many can be opened in a second. So does a caller that still sends a body which is not read.
 */
function sendProblem(request: IncomingMessage, response: ServerResponse, problem: Problem) {
  const { http } = PROBLEMS[problem.reason]
  const { retryAfterSeconds, metadata } = problem
  const body = JSON.stringify(errorBody(problem))
  function reply() {
    const isClosed = http === 401 || http === 429 || isStillSending(request)
    response.writeHead(http, {
      ...JSON_TYPE,
      'content-length': Buffer.byteLength(body),
      ...(http === 401 ? { 'www-authenticate': 'Bearer realm="headland"' } : {}),
      ...(http === 405 ? { allow: metadata.allow } : {}),
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      ...(isClosed ? { connection: 'close' } : {}),
    })
    response.end(body)
  }
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (!isStillSending(request) || length > MAX_DISCARDED_BYTES) return reply()
  request.once('end', reply)
  request.resume()
}

const isStillSending = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined)

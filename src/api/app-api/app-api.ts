/**
 * The listener for apps: what they ask of the service from inside, and nothing of the public API. It stands where apps reach it
 * and builds and strangers do not. Who calls is known by the token alone. An environment that is somebody else's, one that is
 * not there and a token that is none get the same answer.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Environments, Tokens } from '../../apps/index.ts'
import type { Clock, Log } from '../../base/index.ts'
import { errorBody, LIMITS, PROBLEMS, Problem } from '../../contract/index.ts'
import type { Purges } from '../../deployments/index.ts'
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

/** How long a call may take to come in, and a connection stand still. */
const TIMES_MS = { headers: 15_000, request: 30_000, still: 30_000, keepAlive: 65_000 }
/** How often connections are looked at that are too slow. */
const LOOK_MS = 5000
/** Of one app, which has an address of its own; and of all of them, so that the awake apps of one account do not take them all. */
const MAX_CONNECTIONS = { app: 128, all: 16_384 }

type Parts = {
  clock: Clock
  log: Log
  environments: Pick<Environments, 'ownerOf'>
  tokens: Pick<Tokens, 'environmentOf'>
  purges: Pick<Purges, 'byApp'>
  values: Kv
  rates?: Rates
}

export function createInAppServer({ clock, log, environments, tokens, purges, values, ...given }: Parts) {
  const rates = createRates({ clock, ...given })
  const calls = createInAppCalls({ purges, values, rates })

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
        // Who left in the middle of the call does not wait for an answer.
        if (response.destroyed || request.errored) return response.destroy()
        const problem = toProblem(error)
        if (PROBLEMS[problem.reason].fault === 'service') log.error({ err: problem.cause ?? problem }, problem.message)
        sendProblem(request, response, problem)
      }
    },
  )
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
    return wanted.use === 'apps-api' ? calls.purge(call) : calls.value(call, wanted.key)
  }

  /** The count comes before the look into the database, and the token before the count: nobody uses up another's. */
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
    /** Resolves with the address for apps, without a slash at its end. */
    async listen(host: string): Promise<{ port: number; urls: InAppUrls }> {
      server.listen({ host, port: 0 })
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const origin = `http://${host}:${port}`
      return { port, urls: { appsApi: `${origin}${APPS_API}`, kvStore: `${origin}${KV_STORE}` } }
    },

    /** Call it when no app runs any more. */
    async close() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export type InAppUrls = { appsApi: string; kvStore: string }

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

function send(response: ServerResponse, { status, body }: InAppResponse) {
  if (body === undefined) return response.writeHead(status).end()
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  response.writeHead(status, { ...JSON_TYPE, 'content-length': length }).end(body)
}

/** What is still to come of a body is read up to here, or the answer would be lost with the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024

/**
 * Who may not call, or not so often, loses the connection: to make a new one takes time, and the rules of the network allow
 * so many in a second. So does who still sends what nobody will read.
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

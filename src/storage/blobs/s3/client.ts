/** Sends signed requests to a bucket, and sends them again while the store is away for a moment. */
import { hash, webcrypto } from 'node:crypto'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { faultOf, ObjectStoreFault, unanswered } from './faults.ts'
import { type Credentials, pathText, queryText, signed } from './signing.ts'

export type Bucket = Credentials & {
  endpoint: URL
  bucket: string
  /** Whether the bucket is the first part of the path, and not of the host name. */
  isPathStyle: boolean
  /** For the time in signatures. */
  now?: () => Date
}

/** How long the store may take. */
export type Timeouts = {
  /** Without a byte in either direction, connecting included. */
  idleMs: number
  /** For one request, whatever arrives. */
  requestMs: number
  /** In which a request is sent again, where a caller of the API waits. */
  writeMs: number
  /** In which a request is sent again, where a build waits. */
  readMs: number
  /** Before the second attempt; doubled for each one after it. */
  pauseMs: number
}

export const TIMEOUTS: Timeouts = {
  idleMs: 15_000,
  requestMs: 10 * 60_000,
  writeMs: 8000,
  readMs: 90_000,
  pauseMs: 100,
}
const MAX_PAUSE_MS = 5000
const MAX_SOCKETS = 16
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

export type ObjectRequest = {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Empty for the bucket itself. */
  key: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
  /** Statuses that are answers and not faults, beside those of success. */
  accept?: readonly number[]
}

export type Answer = { status: number; headers: http.IncomingHttpHeaders; text: string }

const NO_BODY = Buffer.alloc(0)

export function createClient(bucket: Bucket, timeouts: Timeouts = TIMEOUTS) {
  const { endpoint, isPathStyle } = bucket
  const transport = endpoint.protocol === 'https:' ? https : http
  const agent = new transport.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, scheduling: 'lifo' })
  const hostname = isPathStyle ? endpoint.hostname : `${bucket.bucket}.${endpoint.hostname}`
  const host = endpoint.port ? `${hostname}:${endpoint.port}` : hostname
  const above = endpoint.pathname.split('/').filter(Boolean)

  /** One attempt. The answer's body is to be read by the caller. */
  async function send(request: ObjectRequest): Promise<IncomingMessage> {
    const { method, key, query = {}, headers = {}, body = NO_BODY } = request
    const path = pathText(...above, ...(isPathStyle ? [bucket.bucket] : []), key)
    const unsigned = { method, host, path, query, headers, bodyDigest: await digestOf(body) }
    const all = signed(unsigned, bucket, bucket.now?.() ?? new Date())
    const search = queryText(query)
    return await new Promise((resolve, reject) => {
      const sent = transport.request({
        agent,
        method,
        host: hostname.replace(/^\[(.*)\]$/, '$1'),
        port: endpoint.port || undefined,
        path: search ? `${path}?${search}` : path,
        headers: { ...all, 'content-length': body.length },
        timeout: timeouts.idleMs,
      })
      const giveUp = () => sent.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }))
      const deadline = setTimeout(giveUp, timeouts.requestMs)
      sent.once('timeout', giveUp)
      sent.once('close', () => clearTimeout(deadline))
      sent.once('error', (error) => reject(unanswered(error, host)))
      sent.once('response', resolve)
      sent.end(body)
    })
  }

  /** One attempt, whose answer is a success or one of those that the request accepts. */
  async function open(request: ObjectRequest): Promise<IncomingMessage> {
    const answer = await send(request)
    const { statusCode: status = 0, headers } = answer
    if ((status >= 200 && status < 300) || request.accept?.includes(status)) return answer
    const body = await textIn(answer)
    throw faultOf({ status, body, date: headers.date, retryAfter: headers['retry-after'] }, bucket.bucket)
  }

  async function textIn(answer: IncomingMessage): Promise<string> {
    const pieces: Buffer[] = []
    let bytes = 0
    try {
      for await (const piece of answer) {
        bytes += piece.length
        if (bytes > MAX_ANSWER_BYTES) throw new Error('an answer of the object store is too long')
        pieces.push(piece)
      }
    } catch (error) {
      throw unanswered(error, host)
    }
    return Buffer.concat(pieces).toString()
  }

  /**
   * Runs `attempt` until it succeeds, as long as its faults are passing ones and `withinMs` is not over. A pause that
   * `Retry-After` asks for is made, or the fault is reported at once if it is longer than that.
   */
  async function insist<T>(withinMs: number, attempt: () => Promise<T>): Promise<T> {
    const began = performance.now()
    for (let pauseMs = timeouts.pauseMs; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof ObjectStoreFault && error.isPassing)) throw error
        // Half of it is random, so that requests that failed together do not come back together.
        const pause = error.retryAfterMs ?? pauseMs * (0.5 + Math.random() / 2)
        if (performance.now() - began + pause > withinMs) throw error
        await wait(pause)
      }
    }
  }

  return {
    host,
    timeouts,
    open,
    insist,
    /** For short answers. */
    async ask(request: ObjectRequest, withinMs: number = timeouts.writeMs): Promise<Answer> {
      return insist(withinMs, async () => {
        const answer = await open(request)
        return { status: answer.statusCode ?? 0, headers: answer.headers, text: await textIn(answer) }
      })
    },
    close: () => agent.destroy(),
  }
}

export type Client = ReturnType<typeof createClient>

const LARGE_BYTES = 256 * 1024

/** A large body is hashed by another thread, while others are sent. */
async function digestOf(body: Buffer): Promise<string> {
  if (body.length < LARGE_BYTES) return hash('sha256', body, 'hex')
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', body)).toString('hex')
}

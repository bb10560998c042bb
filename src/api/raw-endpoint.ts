/**
 * A route that accepts any body of any type and any further query parameter, from any page of the web. Its callers were
 * written for other services, cannot be changed, and block an editor until they are answered. So the answer is sent
 * before the body is read, and the body is discarded, unless the handler asks for it.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { LIMITS, Problem } from '../contract/index.ts'
import type { ReadBody, Route, RouteCall } from './route.ts'

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const BODY_MS = 60_000
/** How long an answer waits for a body that the handler reads. */
const READ_MS = 10_000

type RawRoute = Pick<Route, 'method' | 'handle' | 'mayReadBody'>

export function rawEndpoint(app: FastifyInstance, path: string, { method, handle, mayReadBody }: RawRoute) {
  app.route({
    method: METHODS,
    url: path,
    exposeHeadRoute: false,
    config: { isInLedger: true },
    async onRequest(request, reply) {
      const body = openBody(request)
      const isLater = request.method === method && (mayReadBody?.(request.url) ?? false)
      if (!isLater) body.discard()
      // Some plugins call from the editor's browser, and report a failure if they cannot read the answer.
      reply.header('access-control-allow-origin', '*').header('referrer-policy', 'no-referrer')
      if (request.method === 'OPTIONS') return answerPreflight(reply)
      if (request.method !== method) throw wrongMethod(method)
      const answer = await Promise.resolve(
        handle({ request, reply, readBody: body.read } as RouteCall<unknown, unknown>),
      ).finally(body.discard)
      return reply.type('application/json; charset=utf-8').send(answer)
    },
    onSend(request, reply, payload, done) {
      const isLater = request.method !== 'HEAD' && hasBody(request) && !request.raw.complete
      if (!isLater || typeof payload !== 'string') return done(null, payload)
      reply.header('content-length', Buffer.byteLength(payload))
      done(null, Readable.from(answerAndLinger(payload, request)))
    },
    // Never reached: `onRequest` answers before the body is read.
    handler: () => undefined,
  })
}

function answerPreflight(reply: FastifyReply) {
  return reply
    .code(204)
    .header('access-control-allow-methods', 'POST')
    .header('access-control-allow-headers', '*')
    .header('access-control-max-age', '86400')
    .send()
}

const wrongMethod = (method: string) =>
  new Problem(
    'METHOD_NOT_ALLOWED',
    `This address is called with ${method}; opening it in a browser does nothing. To try it: curl -X ${method} "<the whole address>"`,
    { metadata: { allow: `${method}, OPTIONS` } },
  )

const hasBody = ({ raw: { headers } }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/** The body of a call: read into memory if it is wanted, discarded otherwise. */
function openBody(request: FastifyRequest): { read: ReadBody; discard(): void } {
  const { raw } = request
  let isTaken = !hasBody(request)
  const take = (): boolean => {
    if (isTaken) return false
    isTaken = true
    discardBody(request)
    return true
  }
  return {
    discard: take,
    async read(maxBytes) {
      if (!hasBody(request)) return Buffer.alloc(0)
      const chunks: Buffer[] = []
      let bytes = 0
      const { promise, resolve } = Promise.withResolvers<Buffer | undefined>()
      raw.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= maxBytes) chunks.push(chunk)
        else resolve(undefined)
      })
      raw.once('end', () => resolve(Buffer.concat(chunks)))
      raw.once('close', () => resolve(undefined))
      const timer = setTimeout(() => resolve(undefined), READ_MS)
      if (!take()) resolve(undefined)
      const read = await promise
      clearTimeout(timer)
      return read
    },
  }
}

/**
 * Reads the body until it ends. If it is too long or too slow, the connection is closed: its caller has the answer
 * already.
 */
function discardBody({ raw }: FastifyRequest) {
  let bytes = 0
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > LIMITS.webhookBodyBytes) raw.destroy()
  })
  const timer = setTimeout(() => raw.destroy(), BODY_MS)
  raw.once('end', () => clearTimeout(timer))
  raw.once('close', () => clearTimeout(timer))
}

/**
 * Sends the whole answer at once, and ends it when the body has ended: a connection that is to be closed after the
 * answer (HTTP/1.0, `Connection: close`) would be reset while the caller still sends, and the answer lost with it (RFC
 * 9112, 9.6).
 */
async function* answerAndLinger(payload: string, { raw }: FastifyRequest) {
  yield payload
  if (raw.complete || raw.destroyed) return
  await new Promise<void>((resolve) => {
    raw.once('end', resolve)
    raw.once('close', resolve)
  })
}

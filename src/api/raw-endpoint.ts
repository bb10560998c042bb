/**
 * A route that accepts any body of any type and any further query parameter, from any page of the web. Its callers were
 * written for other services, cannot be changed, and block an editor until they are answered. So the answer is sent
 * before the body is read, and the body is discarded.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { LIMITS, Problem } from '../contract/index.ts'
import type { Route, RouteCall } from './route.ts'

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const BODY_MS = 60_000

export function rawEndpoint(app: FastifyInstance, path: string, { method, handle }: Pick<Route, 'method' | 'handle'>) {
  app.route({
    method: METHODS,
    url: path,
    exposeHeadRoute: false,
    config: { isInLedger: true },
    async onRequest(request, reply) {
      if (hasBody(request)) discardBody(request)
      // Some plugins call from the editor's browser, and report a failure if they cannot read the answer.
      reply.header('access-control-allow-origin', '*').header('referrer-policy', 'no-referrer')
      if (request.method === 'OPTIONS') return answerPreflight(reply)
      if (request.method !== method) throw wrongMethod(method)
      const answer = await handle({ request, reply } as RouteCall<unknown, unknown>)
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

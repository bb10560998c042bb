/** Turns everything that was thrown into an answer: the only catch of the API. */
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorBody, LIMITS, PROBLEMS, Problem, type Reason } from '../contract/index.ts'
import { isDiskFull, StorageUnavailable } from '../storage/index.ts'
import { withoutSecrets } from './webhook-url.ts'

const RETRY_AFTER_SECONDS = 5

/** Also for a route that the caller may not know of. */
export const routeNotFound = (request: FastifyRequest): Problem =>
  new Problem('ROUTE_NOT_FOUND', `There is no ${request.method} ${withoutSecrets(request.url).slice(0, 200)}.`)

/** Errors that Fastify finds before a route is reached. */
const FRAMEWORK_PROBLEMS: Record<string, Reason> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'CONTENT_TYPE_UNSUPPORTED',
  FST_ERR_CTP_EMPTY_TYPE: 'CONTENT_TYPE_UNSUPPORTED',
  FST_ERR_CTP_BODY_TOO_LARGE: 'BODY_TOO_LARGE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'REQUEST_MALFORMED',
  FST_ERR_ASYNC_CONSTRAINT: 'REQUEST_MALFORMED',
}

export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (isDiskFull(error)) {
    return new Problem('STORAGE_UNAVAILABLE', 'The disk is full.', { cause: error, retryAfterSeconds: 60 })
  }
  if (error instanceof StorageUnavailable) {
    return new Problem('STORAGE_UNAVAILABLE', undefined, { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS })
  }
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const reason = FRAMEWORK_PROBLEMS[code]
  if (reason === 'BODY_TOO_LARGE') {
    const limit = LIMITS.bodyBytes
    return new Problem(reason, `The body is larger than ${limit.toLocaleString('en')} bytes.`, {
      metadata: { limit: String(limit) },
    })
  }
  // Fastify's own message repeats the whole address, which may contain a token.
  if (code === 'FST_ERR_BAD_URL') return new Problem('REQUEST_MALFORMED', 'The path has an escape that is not valid.')
  if (reason === 'REQUEST_MALFORMED') return new Problem(reason, message)
  return reason ? new Problem(reason) : new Problem('INTERNAL', undefined, { cause: error })
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  // The caller closed the connection in the middle of the body: no fault of the service, and the answer is not read.
  const isCutOff = request.raw.errored && !(error instanceof Problem)
  const problem = isCutOff ? new Problem('REQUEST_MALFORMED', 'The body broke off.') : toProblem(error)
  const { http, fault } = PROBLEMS[problem.reason]
  if (fault === 'service') request.log.error({ err: problem.cause ?? problem, requestId: request.id }, problem.message)
  if (http === 401) reply.header('www-authenticate', `${schemeFor(problem, request)} realm="headland"`)
  if (http === 405) reply.header('allow', problem.metadata.allow)
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds)
  // A connection that is closed while its caller still sends is reset, and the answer is lost with it. So the rest of a
  // short body is read and discarded; for a long one, the connection is closed.
  if (http === 408 || (isStillSending(request) && !isSoonOver(request))) reply.header('connection', 'close')
  else reply.removeHeader('connection')
  request.raw.resume()
  reply.code(http).type('application/json; charset=utf-8').serializer(JSON.stringify).send(errorBody(problem))
}

/**
 * A browser that receives `Basic` opens its own password dialog: over the portal, which has a log-in of its own and
 * identifies itself by a header, and over the page of a CMS that calls a webhook. RFC 9110, section 15.5.2 requires a
 * challenge; browsers ignore the other two schemes.
 */
function schemeFor({ reason }: Problem, { headers }: FastifyRequest): string {
  if (reason === 'WEBHOOK_REFUSED') return 'Token'
  return headers['x-requested-with'] === 'headland-portal' ? 'Session' : 'Basic'
}

const MAX_DISCARDED_BYTES = 64 * 1024 * 1024

const isStillSending = ({ raw }: FastifyRequest): boolean => !raw.complete

function isSoonOver({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= MAX_DISCARDED_BYTES
}

/** A request that is not HTTP: there is no request and no reply yet, only a socket. */
export function sendClientError(error: NodeJS.ErrnoException, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
  const reason: Reason =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'HEADERS_TOO_LARGE'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'REQUEST_TOO_SLOW'
        : 'REQUEST_MALFORMED'
  const body = JSON.stringify(errorBody(new Problem(reason)))
  socket.end(
    `HTTP/1.1 ${PROBLEMS[reason].http} ${PROBLEMS[reason].status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

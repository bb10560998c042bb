/** Failed calls of the API, as errors with a message for people and an exit code. */
import { EXIT, helpPage, PROBLEMS, type Reason } from '../../contract/index.ts'
import type { ProxyServer } from './proxy.ts'

const MAX_MESSAGE_LENGTH = 4000

type CallFailure = {
  /** 0 where there was no response. */
  status: number
  reason: string
  message: string
  retryAfterSeconds?: number | undefined
  /** The address of the service, for a link to its documentation. */
  url?: string
}

export class CallFailed extends Error {
  readonly status: number
  /** One of the error reference, or `NO_ANSWER`, or `HTTP_502` where another server answered. */
  readonly reason: string
  readonly exitCode: number
  /** What to do about it, where the error reference says so. */
  readonly todo: string | undefined
  /** The page of the service's documentation about it, where `url` is given. */
  readonly help: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor({ status, reason, message, retryAfterSeconds, url }: CallFailure) {
    super(message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)} …` : message)
    this.name = 'CallFailed'
    this.status = status
    this.reason = reason
    this.todo = problemOf(reason)?.todo
    this.help = url !== undefined && problemOf(reason) ? helpAt(url, helpPage(reason as Reason)) : undefined
    this.exitCode = exitCodeOf(status, reason)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** There was no response, or none of a Headland. */
export const noAnswer = (message: string): CallFailed => new CallFailed({ status: 0, reason: 'NO_ANSWER', message })

export const notAHeadland = (url: string): CallFailed =>
  noAnswer(`${url} does not answer as a Headland does. Is it the right address?`)

type FailedResponse = {
  url: string
  status: number
  headers: Headers
  text: string
  proxy?: ProxyServer | undefined
}

/** The body of an error response, before it is validated. */
type ErrorBody = { error?: { message?: unknown; details?: { reason?: string }[] } | null } | null

/** The failure that a response describes; a proxy in between may have written it. */
export function failureOf({ url, status, headers, text, proxy }: FailedResponse): CallFailed {
  if (proxy && status === 407) return refusedBy(proxy, url, status)
  const body = (parseJson(text) as ErrorBody | undefined)?.error
  const after = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfterSeconds = after >= 0 && after < Number.POSITIVE_INFINITY ? after : undefined
  const details = Array.isArray(body?.details) ? body.details : []
  const reason = details.map((detail) => detail?.reason).find((one) => typeof one === 'string' && one !== '')
  if (typeof body?.message === 'string' && body.message !== '') {
    return new CallFailed({ status, reason: reason ?? `HTTP_${status}`, message: body.message, retryAfterSeconds, url })
  }
  const where = headers.get('location')
  const through = proxy ? `, or the proxy ${proxy.shown} for it` : ''
  const message = where
    ? `${url} redirects to ${where}; give that address.`
    : `${url}${through} answered with ${status}.`
  return new CallFailed({ status, reason: `HTTP_${status}`, message, retryAfterSeconds })
}

type Fault = Error & { code?: string; statusCode?: number; cause?: { message?: string; code?: string } }

export function unreachable(url: string, error: unknown, proxy?: ProxyServer): CallFailed {
  const { message, code, statusCode, cause } = error as Fault
  if (proxy && code === 'ERR_PROXY_TUNNEL' && statusCode !== undefined) return refusedBy(proxy, url, statusCode)
  const why = cause?.message || cause?.code || message || code
  if (!proxy) return noAnswer(`${url} was not reached: ${why}. Is it the right address, and is it running?`)
  const hint = `Is ${proxy.variable} right? What needs no proxy is named in NO_PROXY.`
  return noAnswer(`${url} was not reached through the proxy ${proxy.shown}: ${why}. ${hint}`)
}

/** The proxy itself refused. Its password is not shown. */
function refusedBy({ shown, variable, url: { username } }: ProxyServer, url: string, status: number): CallFailed {
  const refusal = `The proxy ${shown} does not lead to ${url}: it answered with ${status}.`
  const todo = {
    407: username
      ? `It does not take the user and the password in ${variable}: correct them, with special characters percent-encoded.`
      : `It wants a user and a password: put them into ${variable}, as in http://USER:PASSWORD@proxy.example.com:3128.`,
  }[status]
  const instead = `Ask who runs it, or name ${new URL(url).hostname} in NO_PROXY if it is reached without it.`
  return new CallFailed({ status, reason: `HTTP_${status}`, message: `${refusal} ${todo ?? instead}` })
}

/** A row of the error reference. A reason comes from a server, and may be any text. */
export const problemOf = (reason: string): (typeof PROBLEMS)[Reason] | undefined =>
  Object.hasOwn(PROBLEMS, reason) ? PROBLEMS[reason as Reason] : undefined

/** A page of the documentation, which the service itself serves. A service of an earlier version named a file. */
export const helpAt = (url: string, page: string): string => (page.startsWith('/') ? `${url}${page}` : page)

/** The exit code says whether the error is the caller's fault or the service's. */
export function exitCodeOf(status: number, reason: string): number {
  const fault = problemOf(reason)?.fault
  if (fault !== undefined) return fault === 'service' ? EXIT.service : EXIT.caller
  return status === 0 || status >= 500 || status === 429 ? EXIT.service : EXIT.caller
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

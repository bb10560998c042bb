/** Failed calls of the API, as errors with a message for people and an exit code. */
import { AddressError, errorIn, HeadlandError, secondsIn } from '../../client/index.ts'
import { EXIT, helpPage, PROBLEMS, type Reason, UsageError } from '../../contract/index.ts'
import type { ProxyServer } from './proxy.ts'

type CallFailure = {
  /** 0 where there was no response. */
  status: number
  reason: string
  message: string
  retryAfterSeconds?: number | undefined
  /** The address of the service, for a link to its documentation. */
  url?: string
}

export class CallFailed extends HeadlandError {
  readonly exitCode: number
  /** What to do about it, where the error reference says so. */
  readonly todo: string | undefined
  /** The page of the service's documentation about it, where `url` is given. */
  readonly help: string | undefined

  constructor({ url, ...facts }: CallFailure) {
    super(facts)
    const { status, reason } = facts
    this.name = 'CallFailed'
    this.todo = problemOf(reason)?.todo
    this.help = url !== undefined && problemOf(reason) ? helpAt(url, helpPage(reason as Reason)) : undefined
    this.exitCode = exitCodeOf(status, reason)
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

/** The failure that a response describes; a proxy in between may have written it. */
export function failureOf({ url, status, headers, text, proxy }: FailedResponse): CallFailed {
  if (proxy && status === 407) return refusedBy(proxy, url, status)
  const { message: words, reason } = errorIn(text)
  const retryAfterSeconds = secondsIn(headers.get('retry-after'))
  if (words !== undefined) {
    return new CallFailed({ status, reason: reason ?? `HTTP_${status}`, message: words, retryAfterSeconds, url })
  }
  const where = headers.get('location')
  const through = proxy ? `, or the proxy ${proxy.shown} for it` : ''
  const message = where
    ? `${url} redirects to ${where}; give that address.`
    : `${url}${through} answered with ${status}.`
  return new CallFailed({ status, reason: `HTTP_${status}`, message, retryAfterSeconds })
}

/** A failure that the client itself found, as one of a call; what a user has aborted stays as it is. */
export function asCallFailed(error: unknown, url: string, proxy?: ProxyServer): unknown {
  // Names that the user has typed become steps of a path.
  if (error instanceof AddressError) return new UsageError(error.message)
  if (!(error instanceof HeadlandError) || error instanceof CallFailed) return error
  if (error.cause !== undefined) return unreachable(url, error.cause, proxy)
  const { status, reason, message, retryAfterSeconds } = error
  return new CallFailed({ status, reason, message, retryAfterSeconds })
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

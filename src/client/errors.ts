/** Failed calls: what the service refused and why, or that it did not answer. */
import type { Reason } from './generated/routes.ts'

/** A longer message is cut: a proxy in between may send any page. */
const MAX_MESSAGE_LENGTH = 4000

export type ErrorFacts = {
  status: number
  reason: string
  message: string
  code?: string | undefined
  details?: readonly Record<string, unknown>[]
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

export class HeadlandError extends Error {
  /** Of HTTP; 0 where there was no answer. */
  readonly status: number
  /** One of the error reference; `NO_ANSWER`; or `HTTP_502` where another server answered. */
  readonly reason: Reason | 'NO_ANSWER' | (string & Record<never, never>)
  /** As in google.rpc.Code: `NOT_FOUND`. Empty where another server answered, or none. */
  readonly code: string
  /** As in AIP-193; fields that are wrong are named here. */
  readonly details: readonly Record<string, unknown>[]
  readonly retryAfterSeconds: number | undefined

  constructor({ status, reason, message, code = '', details = [], retryAfterSeconds, cause }: ErrorFacts) {
    super(
      message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)} …` : message,
      cause === undefined ? {} : { cause },
    )
    this.name = 'HeadlandError'
    this.status = status
    this.reason = reason
    this.code = code
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export const noAnswer = (message: string, cause?: unknown): HeadlandError =>
  new HeadlandError({ status: 0, reason: 'NO_ANSWER', message, cause })

export const notAHeadland = (url: string): HeadlandError =>
  noAnswer(`${url} does not answer as a Headland does. Is it the right address?`)

export function unreachable(url: string, error: unknown): HeadlandError {
  const { message, cause } = error as Error & { cause?: { message?: string; code?: string } }
  return noAnswer(`${url} was not reached: ${cause?.message || cause?.code || message}`, error)
}

/** The body of an error, before it is checked: any server may have written it. */
type ErrorBody = { error?: { message?: unknown; status?: unknown; details?: unknown } | null } | null

/** What a response with another status than 200 says. */
export function refusal(url: string, { status, headers }: Response, text: string): HeadlandError {
  const { message, code, details, reason } = errorIn(text)
  const retryAfterSeconds = secondsIn(headers.get('retry-after'))
  if (message !== undefined) {
    return new HeadlandError({ status, reason: reason ?? `HTTP_${status}`, message, code, details, retryAfterSeconds })
  }
  const where = headers.get('location')
  const words = where ? `${url} redirects to ${where}; give that address.` : `${url} answered with ${status}.`
  return new HeadlandError({ status, reason: `HTTP_${status}`, message: words, retryAfterSeconds })
}

/** The error in the body of a response; `message` is undefined where the body is not that of a Headland. */
export function errorIn(text: string) {
  const body = (parseJson(text) as ErrorBody | undefined)?.error
  const details = (Array.isArray(body?.details) ? body.details : []).filter(isObject)
  const reason = details.map((detail) => detail.reason).find((one) => typeof one === 'string' && one !== '')
  const message = typeof body?.message === 'string' && body.message !== '' ? body.message : undefined
  const code = typeof body?.status === 'string' ? body.status : ''
  return { message, code, details, reason: reason as string | undefined }
}

/** Of a `Retry-After` in seconds. */
export function secondsIn(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN)
  return seconds >= 0 && seconds < Number.POSITIVE_INFINITY ? seconds : undefined
}

/** The error of an operation that failed. */
export function failureOf({ error }: { error?: { message: string; details: Record<string, unknown>[] } }) {
  const details = (Array.isArray(error?.details) ? error.details : []).filter(isObject)
  const reason = details.find((detail) => typeof detail.reason === 'string')?.reason as string | undefined
  return new HeadlandError({
    status: 200,
    reason: reason ?? 'UNKNOWN',
    message: String(error?.message ?? 'It failed.'),
    details,
  })
}

/** Whether a later try may succeed: the connection is at fault, or the service is busy or about to start again. */
export const isPassing = (error: unknown): boolean =>
  error instanceof HeadlandError &&
  (error.status === 0 || error.status === 408 || error.status === 429 || error.status >= 500)

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (one: unknown): one is Record<string, unknown> => typeof one === 'object' && one !== null

/** Calls the public API of one Headland. What goes wrong is thrown as a `CallFailed`, with the exit code that it means. */
import { EXIT, PROBLEMS, type Reason } from '../contract/index.ts'

/** An API credential, or the session of a user with the time at which it ends. */
export type Authorization = { userId: string; password: string } | { cookie: string; expireTime?: string }

type Query = Readonly<Record<string, string | number | boolean | undefined>>

export type CallOptions = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  query?: Query
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

export type Service = {
  /** Its address without a slash at the end. */
  url: string
  /** As request headers. */
  authorization: Record<string, string>
  /** `path` as in `/v1/accounts`; the JSON of the answer. */
  call<T>(path: string, options?: CallOptions): Promise<T>
  /** The answer itself, for what is not JSON. */
  ask(path: string, options?: CallOptions): Promise<Response>
  /** All pages of a list: `list('/v1/accounts/default/apps', 'apps')`. */
  list<T>(path: string, field: string, query?: Query): Promise<T[]>
}

export class CallFailed extends Error {
  /** 0 where there was no answer. */
  readonly status: number
  /** One of the error reference, or `NO_ANSWER`, or `HTTP_502` where somebody else answered. */
  readonly reason: string
  readonly exitCode: number
  /** What to do about it, where the error reference knows. */
  readonly todo: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message)
    this.name = 'CallFailed'
    this.status = status
    this.reason = reason
    this.todo = PROBLEMS[reason as Reason]?.todo
    this.exitCode = exitCodeOf(status, reason)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function createService(url: string, authorization: Authorization | undefined): Service {
  const sent = headersOf(authorization)

  async function ask(path: string, { method = 'GET', query, body, headers, signal }: CallOptions = {}) {
    let response: Response
    try {
      response = await fetch(withQuery(`${url}${path}`, query), {
        method,
        headers: {
          accept: 'application/json',
          ...sent,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal ? { signal } : {}),
        // Credentials are for this address and no other.
        redirect: 'manual',
      })
    } catch (error) {
      if (signal?.aborted) throw error
      throw unreachable(url, error)
    }
    if (response.ok) return response
    throw failureOf(url, response.status, response.headers, await response.text().catch(() => ''))
  }

  async function call<T>(path: string, options?: CallOptions): Promise<T> {
    const text = await (await ask(path, options)).text().catch((error) => Promise.reject(unreachable(url, error)))
    if (text === '') return {} as T
    const answer = parse(text)
    if (answer === undefined) throw new CallFailed(0, 'NO_ANSWER', `${url} does not answer as a Headland does.`)
    return answer as T
  }

  return {
    url,
    authorization: sent,
    ask,
    call,
    async list<T>(path: string, field: string, query: Query = {}) {
      const all: T[] = []
      let pageToken: string | undefined
      do {
        // No size is asked for: not every list is one of pages, and none takes a parameter that it does not know.
        const page = await call<Record<string, unknown>>(path, { query: { ...query, pageToken } })
        all.push(...((page[field] ?? []) as T[]))
        pageToken = (page.nextPageToken as string) || undefined
      } while (pageToken)
      return all
    },
  }
}

/** The failure that an answer tells of; a proxy in between may have written it. */
export function failureOf(url: string, status: number, headers: Headers, text: string): CallFailed {
  const told = parse(text) as { error?: { message?: string; details?: { reason?: string }[] } } | undefined
  const after = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfterSeconds = Number.isFinite(after) ? after : undefined
  const reason = told?.error?.details?.find((detail) => detail.reason)?.reason
  if (told?.error?.message)
    return new CallFailed(status, reason ?? `HTTP_${status}`, told.error.message, retryAfterSeconds)
  const where = headers.get('location')
  const said = where ? `${url} leads on to ${where}; give that address.` : `${url} answered with ${status}.`
  return new CallFailed(status, `HTTP_${status}`, said, retryAfterSeconds)
}

export function unreachable(url: string, error: unknown): CallFailed {
  const { message, cause } = error as Error & { cause?: { message?: string; code?: string } }
  const why = cause?.message || cause?.code || message
  return new CallFailed(0, 'NO_ANSWER', `${url} was not reached: ${why}. Is it the right address, and is it running?`)
}

/** Whose fault an error is decides how the command ends. */
export function exitCodeOf(status: number, reason: string): number {
  const fault = PROBLEMS[reason as Reason]?.fault
  if (fault !== undefined) return fault === 'service' ? EXIT.service : EXIT.caller
  return status === 0 || status >= 500 || status === 429 ? EXIT.service : EXIT.caller
}

function headersOf(authorization: Authorization | undefined): Record<string, string> {
  if (!authorization) return {}
  if ('cookie' in authorization) return { cookie: authorization.cookie }
  const { userId, password } = authorization
  return { authorization: `Basic ${Buffer.from(`${userId}:${password}`).toString('base64')}` }
}

function withQuery(url: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)])).toString()
  return search ? `${url}?${search}` : url
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Calls the public API, and nothing else. The session is a cookie that no script can read; the header marks the request
 * as one of the portal, so that a 401 does not make the browser open its own password prompt.
 */
import { CallFailed, noAnswer, readProblem } from './problem.ts'

export const PAGE_HEADER = { 'x-requested-with': 'headland-portal' } as const

type Query = Readonly<Record<string, string | number | boolean | undefined>>

export type CallOptions = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  query?: Query | undefined
  body?: unknown
  /** The etag of the version to change: another version is not changed. */
  ifMatch?: string | undefined
  signal?: AbortSignal | undefined
}

export function urlOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)])).toString()
  return search ? `${path}?${search}` : path
}

/** `path` as in `/v1/accounts/default/apps`. Throws `CallFailed`. */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const { method = 'GET', query, body, ifMatch, signal } = options
  const response = await ask(urlOf(path, query), {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  })
  const text = await response.text().catch(() => Promise.reject(new CallFailed(noAnswer())))
  return (text === '' ? {} : parse(text)) as T
}

/** The response itself, for bodies that are not JSON. Throws `CallFailed` unless it is a 2xx. */
export async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, { ...init, headers: { ...PAGE_HEADER, ...(init.headers as Record<string, string>) } })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new CallFailed(noAnswer())
  }
  if (response.ok) return response
  throw new CallFailed(
    readProblem(response.status, parse(await response.text()), {
      retryAfter: response.headers.get('retry-after'),
      requestId: response.headers.get('x-request-id'),
    }),
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

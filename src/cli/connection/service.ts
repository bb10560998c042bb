/**
 * Calls the public API of one Headland. Failures are thrown as `CallFailed`, which has the exit code for them. The size of a
 * response and the time to wait for it are limited, whatever the server sends.
 */
import { LIMITS } from '../../contract/index.ts'
import type { Path } from '../project/path.ts'
import { type Connection, createConnection } from './connection.ts'
import { CallFailed, failureOf, noAnswer, notAHeadland, parseJson, unreachable } from './failures.ts'
import type { ProxyVariables } from './proxy.ts'

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
  connection: Connection
  /** The JSON of the response. */
  call<T>(path: Path, options?: CallOptions): Promise<T>
  /** The response itself, for what is not JSON. The caller has to limit its size and its time. */
  ask(path: Path, options?: CallOptions): Promise<Response>
  /** All pages of a list: `list(path`/v1/accounts/${account}/apps`, 'apps')`. */
  list<T>(path: Path, field: string, query?: Query): Promise<T[]>
  /** The first ones of a list that may be long, and whether there are more. */
  first<T>(path: Path, field: string, limit: number, query?: Query): Promise<{ items: T[]; hasMore: boolean }>
}

/** A whole page of the longest list has a few MB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
const MAX_LIST_LENGTH = 128 * 1024 * 1024
const MAX_PAGES = 1000
/** Of the first ones of a list, pages beyond those that full ones would take. */
const MAX_SHORT_PAGES = 20
const MAX_ERROR_BYTES = 256 * 1024
/** Longer than any call takes: longer work is an operation, which is answered at once. */
const MAX_ANSWER_MS = 120_000

export function createService(
  url: string,
  authorization: Authorization | undefined,
  { answerMs = MAX_ANSWER_MS, proxies = {} }: { answerMs?: number | undefined; proxies?: ProxyVariables } = {},
): Service {
  const sent = headersOf(authorization)
  const connection = createConnection(url, proxies)

  /** Runs the work with a signal that the caller or the timeout aborts. */
  async function inTime<T>(signal: AbortSignal | undefined, work: (until: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${answerMs / 1000} s`)), answerMs)
    try {
      return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal)
    } catch (error) {
      if (signal?.aborted || error instanceof CallFailed) throw error
      throw unreachable(url, late.signal.aborted ? late.signal.reason : error, connection.proxy)
    } finally {
      clearTimeout(timer)
    }
  }

  async function send(path: Path, options: CallOptions, signal: AbortSignal): Promise<Response> {
    const { method = 'GET', query, body, headers } = options
    const response = await connection.send(withQuery(`${url}${path}`, query), {
      method,
      headers: {
        accept: 'application/json',
        'user-agent': 'headland',
        ...sent,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    })
    if (response.ok) return response
    const text = await textOf(response, MAX_ERROR_BYTES)
    throw failureOf({ url, status: response.status, headers: response.headers, text, proxy: connection.proxy })
  }

  const ask = (path: Path, options: CallOptions = {}): Promise<Response> =>
    inTime(options.signal, (until) => send(path, options, until))

  /** The JSON of a response, and the length of its text. */
  async function read<T>(path: Path, options: CallOptions = {}): Promise<{ answer: T; length: number }> {
    const text = await inTime(options.signal, async (until) =>
      textOf(await send(path, options, until), MAX_ANSWER_BYTES),
    )
    const answer = text === '' ? {} : parseJson(text)
    if (typeof answer !== 'object' || answer === null) throw notAHeadland(url)
    return { answer: answer as T, length: text.length }
  }

  /** Page by page; `query` is called before each. */
  async function* pagesOf<T>(path: Path, field: string, query: () => Query) {
    let length = 0
    let pageToken: string | undefined
    for (let pages = 0; pages < MAX_PAGES && length < MAX_LIST_LENGTH; pages++) {
      const page = await read<Record<string, unknown>>(path, { query: { ...query(), pageToken } })
      length += page.length
      const { [field]: items = [], nextPageToken: next = '' } = page.answer
      if (!Array.isArray(items) || typeof next !== 'string') throw notAHeadland(url)
      pageToken = next
      yield { items: items as T[], isLast: next === '' }
      if (next === '') return
    }
    throw noAnswer(`The list of ${field} at ${url} has no end.`)
  }

  return {
    url,
    authorization: sent,
    connection,
    ask,
    call: async <T>(path: Path, options?: CallOptions) => (await read<T>(path, options)).answer,
    async list<T>(path: Path, field: string, query: Query = {}) {
      const all: T[] = []
      // No page size is sent unless given: not every list has pages, and the API refuses unknown parameters.
      for await (const { items } of pagesOf<T>(path, field, () => query)) for (const item of items) all.push(item)
      return all
    },
    async first<T>(path: Path, field: string, limit: number, filter: Query = {}) {
      const found: T[] = []
      const query = () => ({ ...filter, pageSize: Math.min(limit - found.length, LIMITS.maxPageSize) })
      // A service may return smaller pages than requested, but their number is limited.
      let pagesLeft = MAX_SHORT_PAGES + Math.ceil(limit / LIMITS.maxPageSize)
      for await (const { items, isLast } of pagesOf<T>(path, field, query)) {
        found.push(...items.slice(0, limit - found.length))
        pagesLeft -= 1
        if (found.length === limit || isLast || pagesLeft === 0) return { items: found, hasMore: !isLast }
      }
      return { items: found, hasMore: false }
    },
  }
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

/** Throws for a body of more than `max` bytes. */
export async function textOf(response: Response, max: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > max) throw new Error(`its answer has more than ${max} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/**
 * A client of the API of one Headland, for Node from 20 on and for browsers: one function that calls any route of the OpenAPI
 * document, with the types of that route, and a few for what takes more than one call.
 */
import { textOf } from './bodies.ts'
import {
  failureOf,
  HeadlandError,
  isPassing,
  noAnswer,
  notAHeadland,
  parseJson,
  refusal,
  unreachable,
} from './errors.ts'
import { formOf, type Zip } from './form.ts'
import type { Operation, RequestRecord, ValidatedPlan } from './generated/resources.ts'
import { type Routes, TEXT_ROUTES } from './generated/routes.ts'
import { type LogLine, lineIn, notALog } from './log-lines.ts'
import { untilDone, type WaitOptions } from './operations.ts'
import { firstOf, itemsOf } from './pages.ts'
import {
  AddressError,
  type Arguments,
  addressOf,
  type CallOptions,
  type CallRoute,
  ENVIRONMENT,
  type ItemOf,
  type ListRoute,
  type Path,
  pathOf,
  type Query,
  type StreamRoute,
  type UploadRoute,
} from './route-types.ts'
import { type FollowOptions, followEvents, lastNumber, readLines } from './streams.ts'

/** An API credential; or the cookie of a session, where a browser does not send it by itself. */
export type Authorization = { userId: string; password: string } | { cookie: string }

export type ClientOptions = {
  /** The address of the service, as in `https://headland.example.com`. */
  url: string
  authorization?: Authorization | undefined
  /** Of a whole answer; two minutes unless given. Longer work is an operation, which is answered at once. */
  timeoutMs?: number | undefined
  /** Makes the requests, in place of the platform's own, as for a proxy. What it throws as a `HeadlandError` stays as it is. */
  fetch?: Fetch | undefined
}

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit & { duplex?: 'half' }) => Promise<Response>

type Follow = { after?: number | undefined; onConnection?: ((isThere: boolean) => void) | undefined }
type LogRoute = Exclude<StreamRoute, `${string}/requests`>
type UploadGiven = {
  path: Routes[UploadRoute]['path']
  query?: Omit<Routes[UploadRoute]['query'], 'validateOnly'>
  /** As `fs.openAsBlob(file)` gives it, a file input of a browser, or a stream. */
  zip: Zip
} & CallOptions

export type Client = {
  readonly url: string
  /** The answer of a route: `` call(`GET ${ENVIRONMENT}/builds`, { path }) ``. Throws a `HeadlandError` where there is none. */
  call<R extends CallRoute>(route: R, ...given: Arguments<R>): Promise<Routes[R]['reply']>
  /** The response itself, once its head is there. The caller limits its size and its time. */
  ask<R extends CallRoute>(route: R, ...given: Arguments<R>): Promise<Response>
  /** All items of a list, page by page as they are used. */
  list<R extends ListRoute>(route: R, ...given: Arguments<R>): AsyncGenerator<ItemOf<R>>
  /** The first ones, and whether there are more. */
  first<R extends ListRoute>(
    route: R,
    ...given: Arguments<R, { limit: number }>
  ): Promise<{ items: ItemOf<R>[]; hasMore: boolean }>
  /** The operation once it has succeeded. Throws its error where it failed; lost connections are survived. */
  waitForOperation(operation: Operation, options?: WaitOptions<Operation>): Promise<Operation>
  /** The lines that a log has now, after the given one. */
  readLog<R extends LogRoute>(route: R, ...given: Arguments<R, { after?: number | undefined }>): AsyncGenerator<LogLine>
  /** The number of the last line that a log has. */
  lastLine<R extends LogRoute>(route: R, ...given: Arguments<R>): Promise<number>
  /** Lines, or requests of visitors, as they come: resumed after the last one when the connection was lost. */
  follow<R extends StreamRoute>(
    route: R,
    ...given: Arguments<R, Follow & { signal: AbortSignal }>
  ): AsyncGenerator<R extends LogRoute ? LogLine : RequestRecord>
  /** Sends an archive: it is built and goes live. */
  upload(given: UploadGiven): Promise<Operation>
  /** What the service would do with an archive; nothing is built. */
  plan(given: UploadGiven): Promise<ValidatedPlan>
}

const TIMEOUT_MS = 120_000
/** An archive of the greatest size over a slow line. */
const UPLOAD_TIMEOUT_MS = 60 * 60_000
/** A whole page of the longest list has a few MB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
const MAX_ERROR_BYTES = 256 * 1024

/** What a caller gives, without the types of the route. */
type Given = CallOptions & { path?: Path; query?: Query; body?: unknown; limit?: number; after?: number } & Follow
type Raw = CallOptions & { form?: ReturnType<typeof formOf> }

export function createClient(options: ClientOptions): Client {
  const { authorization, timeoutMs: usualMs = TIMEOUT_MS, fetch: given } = options
  const url = options.url.replace(/\/+$/, '')
  const send: Fetch = given ?? ((address, init) => fetch(address, init))
  const sent = headersOf(authorization)

  async function inTime<T>({ signal, timeoutMs = usualMs }: CallOptions, work: (until: AbortSignal) => Promise<T>) {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
    try {
      return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal)
    } catch (error) {
      if (signal?.aborted || error instanceof HeadlandError || error instanceof AddressError) throw error
      throw unreachable(url, late.signal.aborted ? late.signal.reason : error)
    } finally {
      clearTimeout(timer)
    }
  }

  async function request(route: string, { path, query, body, headers, form }: Given & Raw, signal: AbortSignal) {
    const { method, path: address } = addressOf(route, path, query)
    const response = await send(`${url}${address}`, {
      method,
      headers: {
        accept: 'application/json',
        ...sent,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...form?.headers,
        ...headers,
      },
      ...(form ? { body: form.body, ...(form.duplex ? { duplex: form.duplex } : {}) } : {}),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal,
    })
    if (response.ok) return response
    if (response.type === 'opaqueredirect') throw noAnswer(`${url} redirects; give the address that it redirects to.`)
    throw refusal(url, response, await textOf(response, MAX_ERROR_BYTES))
  }

  const ask = (route: string, given: Given & Raw = {}): Promise<Response> =>
    inTime(given, (until) => request(route, given, until))

  /** The JSON of a response, or its text; and the length of that. */
  async function read(route: string, given: Given & Raw = {}) {
    const text = await inTime(given, async (until) => textOf(await request(route, given, until), MAX_ANSWER_BYTES))
    if (TEXT_ROUTES.includes(route)) return { answer: text, length: text.length }
    const answer = text === '' ? undefined : parseJson(text)
    if (text !== '' && (typeof answer !== 'object' || answer === null)) throw notAHeadland(url)
    return { answer, length: text.length }
  }

  /** A list has the name of the last step of its path. */
  const listOf = (route: string, given: Given = {}) => ({
    url,
    field: route.slice(route.lastIndexOf('/') + 1),
    query: given.query ?? {},
    async read(query: Query) {
      const { answer, length } = await read(route, { ...given, query })
      if (typeof answer !== 'object' || answer === null) throw notAHeadland(url)
      return { answer: answer as Record<string, unknown>, length }
    },
  })

  const asking =
    (route: string, given: Given = {}) =>
    ({ headers, query, signal = given.signal }: CallOptions & { query: Query }) =>
      ask(route, { ...given, headers: { ...given.headers, ...headers }, query: { ...given.query, ...query }, signal })

  function follow(route: string, { after, onConnection, ...given }: Given & { signal: AbortSignal }) {
    const isOfRequests = route.endsWith('/requests')
    const form = isOfRequests ? { event: 'request', read: requestIn } : { event: 'line', read: lineIn }
    const options: FollowOptions = { signal: given.signal, hasEnd: route.endsWith('/log') }
    return followEvents<LogLine | RequestRecord>(asking(route, given), form, {
      ...options,
      ...(after === undefined ? {} : { after }),
      ...(onConnection ? { onConnection } : {}),
    })
  }

  async function upload({ zip, path, query, ...more }: UploadGiven, validateOnly: boolean) {
    const route: UploadRoute = `POST /fu${ENVIRONMENT}:upload`
    const asked = { ...query, ...(validateOnly ? { validateOnly } : {}) }
    const given = { timeoutMs: UPLOAD_TIMEOUT_MS, ...more, path, query: asked, form: formOf(zip) }
    const { answer } = await read(route, given)
    if (typeof answer !== 'object') throw notAHeadland(url)
    return answer
  }

  async function waitForOperation(operation: Operation, options: WaitOptions<Operation> = {}): Promise<Operation> {
    const { account, app, environment, operation: id = '' } = pathOf(operation.name)
    const found = await untilDone(operation, {
      ...options,
      isPassing,
      async wait(seconds, signal) {
        const route = `POST ${ENVIRONMENT}/operations/{operation}:wait` satisfies CallRoute
        const path = { account, app, environment, operation: id }
        const { answer } = await read(route, { path, query: { timeout: `${seconds}s` }, signal })
        return answer as Operation
      },
    })
    if (found.error) throw failureOf({ error: found.error })
    return found
  }

  // The types of a route are those of its caller; in here every route is text.
  const client = {
    url,
    call: async (route: string, given?: Given) => (await read(route, given)).answer,
    ask,
    list: (route: string, given?: Given) => itemsOf(listOf(route, given)),
    first: (route: string, { limit = 50, ...given }: Given) => firstOf(listOf(route, given), limit),
    waitForOperation,
    readLog: (route: string, given: Given = {}) => readLines(asking(route, given), given.after ?? 0, given.signal),
    lastLine: (route: string, given?: Given) => lastNumber(asking(route, given)),
    follow,
    upload: (given: UploadGiven) => upload(given, false),
    plan: (given: UploadGiven) => upload(given, true),
  }
  return client as unknown as Client
}

export function headersOf(authorization: Authorization | undefined): Record<string, string> {
  if (!authorization) return {}
  if ('cookie' in authorization) return { cookie: authorization.cookie }
  const bytes = new TextEncoder().encode(`${authorization.userId}:${authorization.password}`)
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` }
}

/** The form of a request is checked by who shows it; here it has the number by which a stream is resumed. */
function requestIn(data: string): RequestRecord {
  const record = parseJson(data) as RequestRecord | null | undefined
  if (!Number.isSafeInteger(record?.number)) throw notALog()
  return record as RequestRecord
}

/**
 * Calls the public API of one Headland. Failures are thrown as `CallFailed`, which has the exit code for them. The size of a
 * response and the time to wait for it are limited, whatever the server sends.
 */
import {
  type CallRoute,
  type Client,
  createClient,
  type Fetch,
  headersOf,
  type ListRoute,
  textOf,
} from '../../client/index.ts'
import type { Path } from '../project/path.ts'
import { type Connection, createConnection } from './connection.ts'
import { asCallFailed, failureOf } from './failures.ts'
import { withErrors } from './mapped.ts'
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
  /** Its calls have the types of their routes. */
  client: Client
  /** As request headers. */
  authorization: Record<string, string>
  connection: Connection
  /** The JSON of the response. */
  call<T>(path: Path, options?: CallOptions): Promise<T>
  /** The response itself, for what is not JSON. The caller has to limit its size and its time. */
  ask(path: Path, options?: CallOptions): Promise<Response>
  /** All pages of a list. */
  list<T>(path: Path, query?: Query): Promise<T[]>
  /** The first ones of a list that may be long, and whether there are more. */
  first<T>(path: Path, limit: number, query?: Query): Promise<{ items: T[]; hasMore: boolean }>
}

const MAX_ERROR_BYTES = 256 * 1024

export function createService(
  url: string,
  authorization: Authorization | undefined,
  { answerMs, proxies = {} }: { answerMs?: number | undefined; proxies?: ProxyVariables } = {},
): Service {
  const connection = createConnection(url, proxies)
  const { proxy } = connection
  const client = createClient({ url, authorization, timeoutMs: answerMs, fetch: send })

  async function send(...[address, { method = 'GET', headers, body, signal }]: Parameters<Fetch>): Promise<Response> {
    const response = await connection.send(address, {
      method,
      headers: { 'user-agent': 'headland', ...(headers as Record<string, string>) },
      body: body as string | undefined,
      signal: signal as AbortSignal,
    })
    if (response.ok) return response
    const text = await textOf(response, MAX_ERROR_BYTES)
    throw failureOf({ url, status: response.status, headers: response.headers, text, proxy })
  }

  const base = { url, authorization: headersOf(authorization), connection }
  return serviceOf(
    base,
    withErrors(client, (error) => asCallFailed(error, url, proxy)),
  )
}

/** Paths of commands are made by `api`, which checks what is filled in. To the client they are routes without parameters. */
const routeAt = (path: Path, method: CallOptions['method'] = 'GET') => `${method} ${path}` as CallRoute & ListRoute

export function serviceOf(base: Pick<Service, 'url' | 'authorization' | 'connection'>, client: Client): Service {
  return {
    ...base,
    client,
    ask: (path, { method, ...options } = {}) => client.ask(routeAt(path, method), options as never),
    call: async <T>(path: Path, { method, ...options }: CallOptions = {}) =>
      ((await client.call(routeAt(path, method), options as never)) ?? {}) as T,
    async list<T>(path: Path, query: Query = {}) {
      const all: T[] = []
      for await (const item of client.list(routeAt(path), { query } as never)) all.push(item as T)
      return all
    },
    first: <T>(path: Path, limit: number, query: Query = {}) =>
      client.first(routeAt(path), { query, limit } as never) as unknown as Promise<{ items: T[]; hasMore: boolean }>,
  }
}

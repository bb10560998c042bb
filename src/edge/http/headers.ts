/** Which headers are forwarded to an upstream, and which come back, as lists `[name, value, name, value, …]`. */

import type { IncomingMessage } from 'node:http'
import { trimBlanks } from '../../http/index.ts'
import type { Visitor } from './forwarded.ts'
import { withHop } from './hops.ts'
import { remembering, toLower } from './remember.ts'

/** They apply to one connection only (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']

const NOT_FROM_CLIENTS = new Set([
  ...HOP_BY_HOP,
  // Set by us.
  'host',
  'cdn-loop',
  'expect',
  'forwarded',
  'x-real-ip',
  // CGI programs read it as HTTP_PROXY, and would send their own requests through that proxy.
  'proxy',
  // Internal headers of Next.js: a client that sends one could skip middleware, and with it a check for a login.
  'x-middleware-subrequest',
  'x-middleware-subrequest-id',
  'x-middleware-rewrite',
  'x-middleware-redirect',
  'x-middleware-set-cookie',
  'x-middleware-skip',
  'x-middleware-override-headers',
  'x-middleware-next',
  'x-middleware-invoke',
  'x-now-route-matches',
  'x-matched-path',
  'x-invoke-path',
  'x-invoke-query',
  'x-invoke-output',
  'x-invoke-status',
  'x-invoke-error',
  // Internal headers of React Router and Astro: a client that sends one could choose what others are shown.
  'x-react-router-spa-mode',
  'x-react-router-prerender-data',
  'x-astro-path',
  'x-astro-locals',
  // Some frameworks take another path from them, so that one path would be checked and the other one served.
  'x-original-url',
  'x-rewrite-url',
  // Ours, for apps.
  'x-headland-purge',
  // Of apps, for us.
  'x-headland-content',
])
const NOT_FROM_UPSTREAMS = new Set([...HOP_BY_HOP, 'x-headland-content'])

type UpstreamOptions = {
  /** The protocol that the connection is to change to. */
  upgrade?: string
  /** Names that are left out, in lower case. */
  without?: ReadonlySet<string>
  /** The number of the newest purge, for an app that is told. */
  purge?: number | undefined
}

/** The headers for the upstream. */
export function toUpstream(
  request: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'method' | 'httpVersion'>,
  authority: string,
  visitor: Visitor,
  { upgrade, without: unwanted, purge }: UpstreamOptions = {},
): string[] {
  const { rawHeaders, headers, method = 'GET' } = request
  const named = namedBy(headers.connection)
  const sent = ['host', authority]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    const plain = toPlain(name)
    if (isFromProxy(plain) || NOT_FROM_CLIENTS.has(plain) || named?.has(plain) || unwanted?.has(plain)) continue
    if (plain === 'content-length' && name.includes('_')) continue
    sent.push(name, rawHeaders[at + 1] ?? '')
  }
  if (visitor.address !== undefined) sent.push('x-forwarded-for', visitor.address)
  sent.push('x-forwarded-proto', visitor.protocol, 'x-forwarded-host', authority)
  sent.push('cdn-loop', withHop(headers['cdn-loop']))

  if (purge !== undefined) sent.push('x-headland-purge', String(purge))
  if (upgrade !== undefined) sent.push('connection', 'Upgrade', 'upgrade', upgrade)
  if (headers.te?.toString().toLowerCase().includes('trailers')) sent.push('te', 'trailers')
  if (expectsContinue(request)) sent.push('expect', '100-continue')
  // The framing is explicit: Node would otherwise add a chunked body where there is none.
  if (headers['transfer-encoding'] !== undefined) sent.push('transfer-encoding', 'chunked')
  else if (headers['content-length'] === undefined && !BODILESS.has(method)) sent.push('content-length', '0')
  return sent
}

const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * Whether the Connection header names a header that is meant for the app, which then never gets it. The response of the
 * app then does not belong to the request as the cache sees it.
 */
export function hidesHeaders({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const named = namedBy(headers.connection)
  if (!named) return false
  for (const name of named) if (headers[name] !== undefined && !OF_CONNECTION.has(name)) return true
  return false
}

const OF_CONNECTION = new Set([...HOP_BY_HOP, 'http2-settings'])

/** HTTP/1.0 has no interim responses (RFC 9110, section 10.1.1). */
export const expectsContinue = ({ headers, httpVersion }: Pick<IncomingMessage, 'headers' | 'httpVersion'>): boolean =>
  headers.expect?.toLowerCase() === '100-continue' && httpVersion === '1.1'

/** The headers for the client. */
export function toClient(rawHeaders: readonly string[]): { headers: string[]; isEventStream: boolean } {
  let headers: string[] = []
  let named: Set<string> | undefined
  let isEventStream = false
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    const value = rawHeaders[at + 1] ?? ''
    const lower = toLower(name)
    if (lower === 'connection') named = union(named, namedBy(value))
    else if (lower === 'content-type') isEventStream = /^[ \t]*text\/event-stream/i.test(value)
    if (!NOT_FROM_UPSTREAMS.has(lower) && !lower.startsWith('proxy-')) headers.push(name, value)
  }
  if (named) headers = without(headers, named)
  return { headers, isEventStream }
}

/** Programs that read headers as environment variables do not distinguish `_` and `-`. */
const toPlain = remembering((name) => name.toLowerCase().replaceAll('_', '-'))

/** Information of proxies about the client: only our own is forwarded. */
const isFromProxy = (plain: string): boolean => plain.startsWith('x-forwarded-') || plain.startsWith('proxy-')

/** The further headers that a Connection header names; undefined in the common case that there are none. */
function namedBy(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive') return undefined
  const names = connection
    .toLowerCase()
    .split(',')
    .map(trimBlanks)
    .filter((name) => name !== '' && !CONNECTION_WORDS.has(name))
  return names.length > 0 ? new Set(names) : undefined
}

/** Its own options, and Content-Length, which must not be removed from a message. */
const CONNECTION_WORDS = new Set(['close', 'keep-alive', 'upgrade', 'content-length'])

const union = (some: Set<string> | undefined, more: Set<string> | undefined): Set<string> | undefined =>
  some && more ? some.union(more) : (some ?? more)

/** The headers of an answer whose connection is not ours any more. */
export const withoutContent = (headers: readonly string[]): string[] => without(headers, CONTENT)

const CONTENT = new Set(['x-headland-content'])

function without(headers: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (!names.has(toLower(name))) kept.push(name, headers[at + 1] ?? '')
  }
  return kept
}

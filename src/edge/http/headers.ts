/** Which headers go on to an upstream, and which come back: pure lists, `[name, value, name, value, …]`. */

import type { IncomingMessage } from 'node:http'
import { trimBlanks } from '../../http/index.ts'
import type { Visitor } from './forwarded.ts'
import { remembering, toLower } from './remember.ts'

/** Each side of a proxy speaks for itself about its connection (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']

const NOT_FROM_CLIENTS = new Set([
  ...HOP_BY_HOP,
  // Said by us.
  'host',
  'expect',
  'forwarded',
  'x-real-ip',
  // CGI programs read it as HTTP_PROXY, where their own requests go through.
  'proxy',
  // What Next.js says to itself: a client that says it skips middleware, and with it whoever checks for a login there.
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
  // What React Router and Astro say to themselves: a client that says it chooses what others are shown.
  'x-react-router-spa-mode',
  'x-react-router-prerender-data',
  'x-astro-path',
  'x-astro-locals',
  // Frameworks that take another path from a header have the route checked for one and served for the other.
  'x-original-url',
  'x-rewrite-url',
])
const NOT_FROM_UPSTREAMS = new Set(HOP_BY_HOP)

/**
 * What the upstream is asked with. `upgrade` is the protocol that the connection is to change to; names in `without`, in
 * lower case, are left out.
 */
export function toUpstream(
  request: IncomingMessage,
  authority: string,
  visitor: Visitor,
  { upgrade, without: unwanted }: { upgrade?: string; without?: ReadonlySet<string> } = {},
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

  if (upgrade !== undefined) sent.push('connection', 'Upgrade', 'upgrade', upgrade)
  if (headers.te?.toString().toLowerCase().includes('trailers')) sent.push('te', 'trailers')
  if (expectsContinue(request)) sent.push('expect', '100-continue')
  // The framing is ours: Node would put a chunked body where there is none.
  if (headers['transfer-encoding'] !== undefined) sent.push('transfer-encoding', 'chunked')
  else if (headers['content-length'] === undefined && !BODILESS.has(method)) sent.push('content-length', '0')
  return sent
}

const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * Whether a Connection header names a header that is meant for the app, so that the app never sees it. What the app
 * answers is then no answer to what the client seems to have asked.
 */
export function hidesHeaders({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const named = namedBy(headers.connection)
  if (!named) return false
  for (const name of named) if (headers[name] !== undefined && !OF_CONNECTION.has(name)) return true
  return false
}

const OF_CONNECTION = new Set([...HOP_BY_HOP, 'http2-settings'])

/** HTTP/1.0 knows no interim responses (RFC 9110, section 10.1.1). */
export const expectsContinue = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.expect?.toLowerCase() === '100-continue' && httpVersion === '1.1'

/** What the client is answered with. */
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

/** `_` and `-` are the same to programs that read headers as variables: a client may write either. */
const toPlain = remembering((name) => name.toLowerCase().replaceAll('_', '-'))

/** Says who asked and how: of that, only what we say ourselves goes on. */
const isFromProxy = (plain: string): boolean => plain.startsWith('x-forwarded-') || plain.startsWith('proxy-')

/** The further headers that a Connection header takes with it; undefined in the common case that there are none. */
function namedBy(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive') return undefined
  const names = connection
    .toLowerCase()
    .split(',')
    .map(trimBlanks)
    .filter((name) => name !== '' && !CONNECTION_WORDS.has(name))
  return names.length > 0 ? new Set(names) : undefined
}

/** Words of its own, and the length of a body, which nobody may take away from it. */
const CONNECTION_WORDS = new Set(['close', 'keep-alive', 'upgrade', 'content-length'])

const union = (some: Set<string> | undefined, more: Set<string> | undefined): Set<string> | undefined =>
  some && more ? some.union(more) : (some ?? more)

function without(headers: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (!names.has(toLower(name))) kept.push(name, headers[at + 1] ?? '')
  }
  return kept
}

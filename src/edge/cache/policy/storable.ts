/** Whether a response may be stored, and with which headers: RFC 9111, section 3, as a shared cache. */
import { toClient } from '../../http/headers.ts'
import { remembering, toLower } from '../../http/remember.ts'
import {
  fieldOf,
  firstOf,
  type HeaderList,
  membersOf,
  type RequestHeaders,
  requestField,
} from '../fields/header-list.ts'
import { writeHttpDate } from '../fields/http-date.ts'
import { collectTags, TAG_FIELDS } from '../fields/tags.ts'
import { type Directives, fieldsNamedBy, policyOf, readCacheControl } from './cache-control.ts'
import { type Lifetime, lifetimeBy } from './freshness.ts'

export type Storable = {
  kind: 'store'
  lifetime: Lifetime
  /** The headers that are stored. The client whose request fetched the response gets the original ones. */
  headers: string[]
  /** Lower-case names in order, none twice; undefined when there is none. */
  vary: readonly string[] | undefined
  tags: readonly string[]
}

/** `why` is shown in Cache-Status. */
export type Unstorable = { kind: 'pass'; why: Why }

export type Why =
  | 'method'
  | 'request-body'
  | 'request-no-store'
  | 'partial'
  | 'status'
  | 'no-store'
  | 'private'
  | 'set-cookie'
  | 'authorization'
  | 'vary-all'
  | 'no-lifetime'
  | 'too-many-tags'
  /** Of learned.ts. */
  | 'cookie'
  | 'preview'
  | 'vary'
  | `content-${string}`

export type Exchange = {
  method: string
  requestHeaders: RequestHeaders
  status: number
  headers: HeaderList
  requestMs: number
  responseMs: number
}

export function decideStorage(exchange: Exchange): Storable | Unstorable {
  const { status, headers, responseMs } = exchange
  const policy = policyOf(headers)
  const { directives } = policy
  const why = objectionToRequest(exchange) ?? objectionToStatus(status, directives) ?? objection(exchange, directives)
  if (why) return { kind: 'pass', why }

  const vary = varyOf(headers)
  if (vary === 'all') return { kind: 'pass', why: 'vary-all' }

  const lifetime = lifetimeBy(policy, exchange)
  if (!isOfUse(lifetime, exchange)) return { kind: 'pass', why: 'no-lifetime' }

  const { tags, isComplete } = collectTags(headers)
  // A purge by a tag that was left out would miss it.
  if (!isComplete) return { kind: 'pass', why: 'too-many-tags' }

  return { kind: 'store', lifetime, headers: storedHeaders(headers, directives, responseMs), vary, tags }
}

function objectionToRequest({ method, requestHeaders }: Exchange): Why | undefined {
  if (method !== 'GET') return 'method'
  // A body of a GET has no meaning (RFC 9110, section 9.3.1), but an app may use it, and the next client does not send
  // it.
  const length = requestField(requestHeaders, 'content-length') ?? '0'
  if (length !== '0' || requestHeaders['transfer-encoding'] !== undefined) return 'request-body'
  const requested = requestField(requestHeaders, 'cache-control')
  if (requested !== undefined && readCacheControl(requested).has('no-store')) return 'request-no-store'
  return undefined
}

function objectionToStatus(status: number, directives: Directives): Why | undefined {
  if (status === 206) return 'partial'
  if (status < 200 || status > 599 || SPECIFIC_TO_REQUEST.has(status)) return 'status'
  if (directives.has('must-understand') && !UNDERSTOOD.has(status)) return 'status'
  return undefined
}

/**
 * They describe one request: its credentials, its rate, its conditions. If they were stored, they would answer correct
 * requests of other clients, too. RFC 6585 forbids storing the last four; the others are not worth the risk.
 */
const SPECIFIC_TO_REQUEST = new Set([304, 401, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511])

/** Those of RFC 9110 and 451: their caching requirements are all met here. */
const UNDERSTOOD = new Set([
  ...[200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 402, 403, 404, 405, 406, 409, 410, 411, 413],
  ...[414, 415, 422, 451, 500, 501, 502, 503, 504, 505],
])

function objection({ requestHeaders, headers }: Exchange, directives: Directives): Why | undefined {
  // A cache that understands the status may ignore no-store beside must-understand (section 5.2.2.3).
  if (directives.has('no-store') && !directives.has('must-understand')) return 'no-store'
  // A surrogate, as we are one, reads Surrogate-Control. Its lifetimes are ignored, its no-store is honoured.
  const surrogate = fieldOf(headers, 'surrogate-control')
  if (surrogate !== undefined && readCacheControl(surrogate).has('no-store')) return 'no-store'
  if (directives.get('private') === true) return 'private'
  if (firstOf(headers, 'set-cookie') !== undefined) return 'set-cookie'
  if (requestHeaders.authorization === undefined) return undefined
  return ALLOW_SHARING.some((name) => directives.has(name)) ? undefined : 'authorization'
}

/** Any of them allows sharing the response to a request with Authorization (section 3.5). */
const ALLOW_SHARING = ['public', 's-maxage', 'must-revalidate']

/**
 * Whether it can ever answer a request: while it is fresh, in one of the windows after that, or after a validation,
 * which is possible for successful responses only (RFC 9110, section 13.2.1).
 */
function isOfUse(lifetime: Lifetime, { status, headers, responseMs }: Exchange): boolean {
  if (lifetime.from === 'none') return false
  if (lifetime.bornMs + lifetime.freshMs > responseMs) return true
  if (lifetime.whileRevalidatingMs > 0 || lifetime.ifErrorMs > 0) return true
  const hasValidator = firstOf(headers, 'etag') !== undefined || firstOf(headers, 'last-modified') !== undefined
  return hasValidator && status < 300
}

/** `all` also where it names too many headers to compare for every request: the response is then not stored. */
export function varyOf(headers: HeaderList): readonly string[] | 'all' | undefined {
  const field = fieldOf(headers, 'vary') ?? ''
  if (field.length > MAX_VARY_LENGTH) return 'all'
  const names = readVary(field)
  if (names.includes('*') || names.length > MAX_VARY_NAMES) return 'all'
  return names.length > 0 ? names : undefined
}

const MAX_VARY_LENGTH = 2048
const MAX_VARY_NAMES = 32

const readVary = remembering((vary): readonly string[] => [...new Set(membersOf(vary.toLowerCase()))].sort())

export function storedHeaders(received: HeaderList, directives: Directives, responseMs: number): string[] {
  const personal = new Set([...fieldsNamedBy(directives, 'no-cache'), ...fieldsNamedBy(directives, 'private')])
  const stored: string[] = []
  let hasDate = false
  const { headers } = toClient(received)
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const lower = toLower(name)
    if (FOR_US.has(lower) || personal.has(lower)) continue
    if (lower === 'date') hasDate = true
    stored.push(name, headers[at + 1] ?? '')
  }
  // A recipient with a clock adds the Date on arrival (RFC 9110, section 6.6.1); Node would add the time of each
  // sending.
  if (!hasDate) stored.push('Date', writeHttpDate(responseMs))
  return stored
}

/**
 * Age is computed for each reply, and tags are for caches. CDN-Cache-Control may be removed where no downstream cache
 * is known to use it (RFC 9213, section 3); a cache that used it would store the response for a time that our purges
 * cannot end.
 */
const FOR_US = new Set(['age', 'cdn-cache-control', ...TAG_FIELDS])

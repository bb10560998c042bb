/** Whether a response is kept for others, and what of it: RFC 9111, section 3, as a shared cache. */
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
  /** What is stored and sent from the store. The one who asked first gets what came, as it would without a cache. */
  headers: string[]
  /** Lower-case names in order, none twice; undefined when there is none. */
  vary: readonly string[] | undefined
  tags: readonly string[]
}

/** `why` is for Cache-Status and for people. */
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
  // A purge by the tag that was left out would miss it.
  if (!isComplete) return { kind: 'pass', why: 'too-many-tags' }

  return { kind: 'store', lifetime, headers: storedHeaders(headers, directives, responseMs), vary, tags }
}

function objectionToRequest({ method, requestHeaders }: Exchange): Why | undefined {
  if (method !== 'GET') return 'method'
  // It has no meaning (RFC 9110, section 9.3.1), but an app may give it one, and the next client has not sent it.
  const length = requestField(requestHeaders, 'content-length') ?? '0'
  if (length !== '0' || requestHeaders['transfer-encoding'] !== undefined) return 'request-body'
  const wishes = requestField(requestHeaders, 'cache-control')
  if (wishes !== undefined && readCacheControl(wishes).has('no-store')) return 'request-no-store'
  return undefined
}

function objectionToStatus(status: number, directives: Directives): Why | undefined {
  if (status === 206) return 'partial'
  if (status < 200 || status > 599 || ABOUT_ONE_REQUEST.has(status)) return 'status'
  if (directives.has('must-understand') && !UNDERSTOOD.has(status)) return 'status'
  return undefined
}

/**
 * They say how one request was made: by whom, how often, under which conditions. Said to everybody, each of them would
 * shut out those who ask better. RFC 6585 forbids to store the last four; the others are not worth the risk.
 */
const ABOUT_ONE_REQUEST = new Set([304, 401, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511])

/** Those of RFC 9110 and 451: there is nothing more about caching them than is done here. */
const UNDERSTOOD = new Set([
  ...[200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 402, 403, 404, 405, 406, 409, 410, 411, 413],
  ...[414, 415, 422, 451, 500, 501, 502, 503, 504, 505],
])

function objection({ requestHeaders, headers }: Exchange, directives: Directives): Why | undefined {
  // A cache that understands the status may take must-understand for the end of no-store (section 5.2.2.3).
  if (directives.has('no-store') && !directives.has('must-understand')) return 'no-store'
  // We are a surrogate. Of that old field we take no lifetime, but a clear no is a no.
  const surrogate = fieldOf(headers, 'surrogate-control')
  if (surrogate !== undefined && readCacheControl(surrogate).has('no-store')) return 'no-store'
  if (directives.get('private') === true) return 'private'
  if (firstOf(headers, 'set-cookie') !== undefined) return 'set-cookie'
  if (requestHeaders.authorization === undefined) return undefined
  return FOR_OTHERS_TOO.some((name) => directives.has(name)) ? undefined : 'authorization'
}

/** Any of them allows to give what one client was shown by its name to another (section 3.5). */
const FOR_OTHERS_TOO = ['public', 's-maxage', 'must-revalidate']

/**
 * Whether there will ever be a request that it answers: while it is fresh, in one of the windows behind that, or after
 * the app has said that it is still right, which it can of a success only (RFC 9110, section 13.2.1).
 */
function isOfUse(lifetime: Lifetime, { status, headers, responseMs }: Exchange): boolean {
  if (lifetime.from === 'none') return false
  if (lifetime.bornMs + lifetime.freshMs > responseMs) return true
  if (lifetime.whileRevalidatingMs > 0 || lifetime.ifErrorMs > 0) return true
  const hasValidator = firstOf(headers, 'etag') !== undefined || firstOf(headers, 'last-modified') !== undefined
  return hasValidator && status < 300
}

/** `all` also where it names more than can be compared for every request: nobody gets it but the one who asked. */
function varyOf(headers: HeaderList): readonly string[] | 'all' | undefined {
  const field = fieldOf(headers, 'vary') ?? ''
  if (field.length > MAX_VARY_LENGTH) return 'all'
  const names = readVary(field)
  if (names.includes('*') || names.length > MAX_VARY_NAMES) return 'all'
  return names.length > 0 ? names : undefined
}

const MAX_VARY_LENGTH = 2048
const MAX_VARY_NAMES = 32

const readVary = remembering((vary): readonly string[] => [...new Set(membersOf(vary.toLowerCase()))].sort())

function storedHeaders(received: HeaderList, directives: Directives, responseMs: number): string[] {
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
  // Whoever has a clock says when it came (RFC 9110, section 6.6.1): Node would say when it is sent, each time anew.
  if (!hasDate) stored.push('Date', writeHttpDate(responseMs))
  return stored
}

/**
 * We say the age ourselves, and tags are for caches. CDN-Cache-Control may be removed where nobody downstream is known
 * to use it (RFC 9213, section 3); beside a lifetime that a purge can end, it would give others one that none can.
 */
const FOR_US = new Set(['age', 'cdn-cache-control', ...TAG_FIELDS])

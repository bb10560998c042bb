/**
 * Validation in both directions: ours with the app, of a stored response (RFC 9111, section 4.3), and a client's with
 * us, of its own copy (RFC 9110, section 13).
 */
import { trimBlanks } from '../../../http/index.ts'
import { toClient } from '../../http/headers.ts'
import { MAX_LIST_LENGTH, readRange } from '../../http/negotiate.ts'
import { firstOf, type HeaderList, type RequestHeaders, requestField } from '../fields/header-list.ts'
import { readHttpDate } from '../fields/http-date.ts'

/** The conditions that validate a stored response; empty when it has no validator. */
export function conditionsFor(stored: HeaderList): string[] {
  const conditions: string[] = []
  const etag = firstOf(stored, 'etag')
  if (etag !== undefined) conditions.push('If-None-Match', etag)
  const lastModified = firstOf(stored, 'last-modified')
  // Unchanged, for servers that compare it as a string.
  if (readHttpDate(lastModified) !== undefined) conditions.push('If-Modified-Since', lastModified ?? '')
  return conditions
}

/**
 * Whether a 304 is about this stored response (RFC 9111, section 4.3.4): its validator matches. A 304 without a
 * validator is about the one response that was asked for.
 */
export function isAbout(stored: HeaderList, received304: HeaderList): boolean {
  const etag = firstOf(received304, 'etag')
  const ownEtag = firstOf(stored, 'etag')
  if (etag !== undefined && ownEtag !== undefined) {
    return isWeak(etag) ? isSameWeakly(etag, ownEtag) : etag === ownEtag
  }
  const lastModified = firstOf(received304, 'last-modified')
  if (lastModified !== undefined) return isSameTime(lastModified, firstOf(stored, 'last-modified'))
  return etag === undefined
}

/**
 * Stored headers, freshened by a 304 (RFC 9111, section 3.2): its fields replace the stored ones. The result must be
 * checked again by the rules for storing, as if it had come with a 200, because a 304 may forbid storing.
 */
export function freshen(stored: HeaderList, received304: HeaderList): string[] {
  const newer = toClient(received304).headers
  const replaced = new Set(OUTDATED)
  const taken: string[] = []
  for (let at = 0; at < newer.length; at += 2) {
    const name = newer[at] ?? ''
    const lower = name.toLowerCase()
    if (ABOUT_THE_BYTES.has(lower)) continue
    // Both are the same ETag, or the stored one is strong and this one is weak.
    if (lower === 'etag' && firstOf(stored, 'etag') !== undefined) continue
    replaced.add(lower)
    taken.push(name, newer[at + 1] ?? '')
  }
  const freshened: string[] = []
  for (let at = 0; at < stored.length; at += 2) {
    const name = stored[at] ?? ''
    if (!replaced.has(name.toLowerCase())) freshened.push(name, stored[at + 1] ?? '')
  }
  return freshened.concat(taken)
}

/**
 * They describe the stored bytes, and a 304 has none. The RFC requires this for the first and allows it for the others.
 */
const ABOUT_THE_BYTES = new Set([
  'content-length',
  'content-encoding',
  'content-range',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
])

/** They describe the moment of the stored response, so they are removed even where the 304 does not replace them. */
const OUTDATED = ['date', 'age', 'x-nextjs-cache']

export type ConditionalResult =
  | { kind: 'whole' }
  | { kind: 'not-modified' }
  /** Both ends are included. */
  | { kind: 'part'; start: number; end: number }
  | { kind: 'unsatisfiable' }

/**
 * Evaluates the client's conditions against a stored response, in the order of RFC 9110, section 13.2.2. If-Match and
 * If-Unmodified-Since are for origin servers: a cache does not evaluate them (RFC 9111, section 4.3.2).
 */
export function answerFrom(
  stored: { status: number; headers: HeaderList; size: number },
  request: { method?: string | undefined; headers: RequestHeaders },
): ConditionalResult {
  if (stored.status !== 200) return WHOLE
  if (isKnownToClient(stored.headers, request.headers)) return NOT_MODIFIED
  const range = requestField(request.headers, 'range')
  if (range === undefined || (request.method ?? 'GET') !== 'GET') return WHOLE
  const ifRange = requestField(request.headers, 'if-range')
  if (ifRange !== undefined && !isSameStrongly(stored.headers, trimBlanks(ifRange))) return WHOLE
  const part = readRange(range, undefined, { size: stored.size, etag: '' })
  if (part === 'whole') return WHOLE
  return part === 'unsatisfiable' ? { kind: 'unsatisfiable' } : { kind: 'part', ...part }
}

const WHOLE: ConditionalResult = { kind: 'whole' }
const NOT_MODIFIED: ConditionalResult = { kind: 'not-modified' }

function isKnownToClient(stored: HeaderList, request: RequestHeaders): boolean {
  const ifNoneMatch = requestField(request, 'if-none-match')
  // It takes precedence over If-Modified-Since (RFC 9110, section 13.1.3).
  if (ifNoneMatch !== undefined) return isListed(trimBlanks(ifNoneMatch), firstOf(stored, 'etag'))
  const since = readHttpDate(requestField(request, 'if-modified-since'))
  if (since === undefined) return false
  // Without Last-Modified, the Date is the latest time at which it can have changed (RFC 9111, section 4.3.2).
  const changed = readHttpDate(firstOf(stored, 'last-modified') ?? firstOf(stored, 'date'))
  return changed !== undefined && changed <= since
}

function isListed(ifNoneMatch: string, etag: string | undefined): boolean {
  if (ifNoneMatch === '*') return true
  if (etag === undefined) return false
  // Malformed tags match as well when they are identical.
  if (ifNoneMatch === etag) return true
  // Sending the response again is always correct, and no browser sends such a long list.
  if (ifNoneMatch.length > MAX_LIST_LENGTH) return false
  for (const [listed] of ifNoneMatch.matchAll(/(?:W\/)?"[^"]*"/g)) if (isSameWeakly(listed, etag)) return true
  return false
}

/**
 * A range needs a response that is identical byte for byte, which a weak validator does not promise (RFC 9110, section
 * 13.1.5).
 */
function isSameStrongly(stored: HeaderList, ifRange: string): boolean {
  if (ifRange.includes('"')) return !isWeak(ifRange) && ifRange === firstOf(stored, 'etag')
  const lastModified = readHttpDate(firstOf(stored, 'last-modified'))
  const date = readHttpDate(firstOf(stored, 'date'))
  if (lastModified === undefined || date === undefined || lastModified !== readHttpDate(ifRange)) return false
  // It may have changed twice in that second (section 8.8.2.2).
  return date - lastModified >= 1000
}

/**
 * The headers of a 304 that is made from a stored response: all except those that describe the content that the client
 * already has (RFC 9110, section 15.4.5). The others, such as browser policies, freshen the client's copy.
 */
export function notModifiedHeaders(stored: HeaderList): string[] {
  const hasEtag = firstOf(stored, 'etag') !== undefined
  const kept: string[] = []
  for (let at = 0; at < stored.length; at += 2) {
    const name = stored[at] ?? ''
    const lower = name.toLowerCase()
    if (lower.startsWith('content-') ? !CONTENT_BUT_SENT.has(lower) : NOT_IN_304.has(lower)) continue
    if (lower === 'last-modified' && hasEtag) continue
    kept.push(name, stored[at + 1] ?? '')
  }
  return kept
}

const CONTENT_BUT_SENT = new Set(['content-location', 'content-security-policy', 'content-security-policy-report-only'])
/** The sender of the 304 adds the last two itself. */
const NOT_IN_304 = new Set(['accept-ranges', 'repr-digest', 'digest', 'age', 'cache-status'])

/**
 * What the 200 to a HEAD request implies for the stored response to GET (RFC 9111, section 4.3.5): it is still valid
 * and may be freshened, it is outdated, or, without a common validator, nothing.
 */
export function compareHead(
  stored: HeaderList,
  storedSize: number,
  headResponse: HeaderList,
): 'freshen' | 'invalidate' | 'nothing' {
  const length = firstOf(headResponse, 'content-length')
  if (length !== undefined && Number(length) !== storedSize) return 'invalidate'
  const etag = firstOf(headResponse, 'etag')
  if (etag !== undefined) return isSameWeakly(etag, firstOf(stored, 'etag')) ? 'freshen' : 'invalidate'
  const lastModified = firstOf(headResponse, 'last-modified')
  if (lastModified === undefined) return 'nothing'
  return isSameTime(lastModified, firstOf(stored, 'last-modified')) ? 'freshen' : 'invalidate'
}

const isWeak = (etag: string): boolean => etag.startsWith('W/')

const isSameWeakly = (one: string, other: string | undefined): boolean =>
  other !== undefined && one.replace(/^W\//, '') === other.replace(/^W\//, '')

function isSameTime(one: string, other: string | undefined): boolean {
  if (one === other) return true
  const time = readHttpDate(one)
  return time !== undefined && time === readHttpDate(other)
}

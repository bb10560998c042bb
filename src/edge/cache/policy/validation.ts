/**
 * Questions whether a copy is still right, in both directions: ours to the app about what is stored (RFC 9111, section
 * 4.3), and a client's to us about what it has (RFC 9110, section 13).
 */
import { trimBlanks } from '../../../http/index.ts'
import { toClient } from '../../http/headers.ts'
import { MAX_LIST_LENGTH, readRange } from '../../http/negotiate.ts'
import { firstOf, type HeaderList, type RequestHeaders, requestField } from '../fields/header-list.ts'
import { readHttpDate } from '../fields/http-date.ts'

/** What the app is asked with about a stored response; empty when it has no validator. */
export function conditionsFor(stored: HeaderList): string[] {
  const conditions: string[] = []
  const etag = firstOf(stored, 'etag')
  if (etag !== undefined) conditions.push('If-None-Match', etag)
  const lastModified = firstOf(stored, 'last-modified')
  // As it was written, for servers that compare letters.
  if (readHttpDate(lastModified) !== undefined) conditions.push('If-Modified-Since', lastModified ?? '')
  return conditions
}

/**
 * Whether a 304 is about this stored response (RFC 9111, section 4.3.4): its validator is that of the response. One
 * without any is about what was asked for, and nothing else was.
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
 * Stored headers, freshened by a 304 (RFC 9111, section 3.2): what it says replaces what was said before. To be read
 * again by the rules for storing, as if it had come with a 200: a 304 may forbid to store.
 */
export function freshen(stored: HeaderList, received304: HeaderList): string[] {
  const newer = toClient(received304).headers
  const replaced = new Set(OUTDATED)
  const taken: string[] = []
  for (let at = 0; at < newer.length; at += 2) {
    const name = newer[at] ?? ''
    const lower = name.toLowerCase()
    if (ABOUT_THE_BYTES.has(lower)) continue
    // They are the same tag, or the one that was stored is stronger.
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

/** They describe the bytes that are stored, and a 304 brought none. The RFC forbids the first and allows the others. */
const ABOUT_THE_BYTES = new Set([
  'content-length',
  'content-encoding',
  'content-range',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
])

/** They told of that moment, and the 304 is of another one, whether it says so or not. */
const OUTDATED = ['date', 'age', 'x-nextjs-cache']

export type Answer =
  | { kind: 'whole' }
  | { kind: 'not-modified' }
  /** Both included. */
  | { kind: 'part'; start: number; end: number }
  | { kind: 'unsatisfiable' }

/**
 * What a stored response answers to the client's own conditions, in the order of RFC 9110, section 13.2.2. If-Match and
 * If-Unmodified-Since are for origin servers: a cache has nothing to say about them (RFC 9111, section 4.3.2).
 */
export function answerFrom(
  stored: { status: number; headers: HeaderList; size: number },
  request: { method: string; headers: RequestHeaders },
): Answer {
  if (stored.status !== 200) return WHOLE
  if (isKnownToClient(stored.headers, request.headers)) return NOT_MODIFIED
  const range = requestField(request.headers, 'range')
  if (range === undefined || request.method !== 'GET') return WHOLE
  const ifRange = requestField(request.headers, 'if-range')
  if (ifRange !== undefined && !isTheVeryOne(stored.headers, trimBlanks(ifRange))) return WHOLE
  const part = readRange(range, undefined, { size: stored.size, etag: '' })
  if (part === 'whole') return WHOLE
  return part === 'unsatisfiable' ? { kind: 'unsatisfiable' } : { kind: 'part', ...part }
}

const WHOLE: Answer = { kind: 'whole' }
const NOT_MODIFIED: Answer = { kind: 'not-modified' }

function isKnownToClient(stored: HeaderList, request: RequestHeaders): boolean {
  const ifNoneMatch = requestField(request, 'if-none-match')
  // It wins: a date beside it is for those who do not know it.
  if (ifNoneMatch !== undefined) return isListed(trimBlanks(ifNoneMatch), firstOf(stored, 'etag'))
  const since = readHttpDate(requestField(request, 'if-modified-since'))
  if (since === undefined) return false
  // Where nobody said when it was changed, it was no later than it was sent (RFC 9111, section 4.3.2).
  const changed = readHttpDate(firstOf(stored, 'last-modified') ?? firstOf(stored, 'date'))
  return changed !== undefined && changed <= since
}

function isListed(ifNoneMatch: string, etag: string | undefined): boolean {
  if (ifNoneMatch === '*') return true
  if (etag === undefined) return false
  // Badly written tags, too, are the same where every letter is.
  if (ifNoneMatch === etag) return true
  // To send it once more is no fault, and thousands of tags are none that a browser has.
  if (ifNoneMatch.length > MAX_LIST_LENGTH) return false
  for (const [listed] of ifNoneMatch.matchAll(/(?:W\/)?"[^"]*"/g)) if (isSameWeakly(listed, etag)) return true
  return false
}

/** For parts of it every byte must be the same: weak validators do not say that (RFC 9110, section 13.1.5). */
function isTheVeryOne(stored: HeaderList, ifRange: string): boolean {
  if (ifRange.includes('"')) return !isWeak(ifRange) && ifRange === firstOf(stored, 'etag')
  const lastModified = readHttpDate(firstOf(stored, 'last-modified'))
  const date = readHttpDate(firstOf(stored, 'date'))
  if (lastModified === undefined || date === undefined || lastModified !== readHttpDate(ifRange)) return false
  // It may have changed twice in that second (section 8.8.2.2).
  return date - lastModified >= 1000
}

/**
 * The headers of a 304 that is made from a stored response: all but those that describe what the client has already
 * (RFC 9110, section 15.4.5). Those that do not, as policies for browsers, freshen the client's copy.
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
/** The last two are said anew by whoever sends it. */
const NOT_IN_304 = new Set(['accept-ranges', 'repr-digest', 'digest', 'age', 'cache-status'])

/**
 * What the 200 to a HEAD request says about the stored response to GET (RFC 9111, section 4.3.5): that it is still right
 * and may be freshened, that it is not the current one any more, or, where both have nothing in common, nothing.
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

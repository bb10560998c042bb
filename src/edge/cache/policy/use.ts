/** What a stored response is good for right now, for this request: RFC 9111, sections 4.2 and 5.2.1. */

import { type RequestHeaders, requestField } from '../fields/header-list.ts'
import { type Directives, readCacheControl, seconds } from './cache-control.ts'
import type { Lifetime } from './freshness.ts'

/** `ageSeconds` is for Age, `ttlSeconds` for Cache-Status: below zero once it is stale. */
export type Use =
  | { kind: 'fresh'; ageSeconds: number; ttlSeconds: number }
  /** Serve it now and refresh it behind the reader's back. */
  | { kind: 'stale-while-revalidate'; ageSeconds: number; ttlSeconds: number }
  /** Serve it: the client takes stale ones, and the response does not forbid it. */
  | { kind: 'stale-taken'; ageSeconds: number; ttlSeconds: number }
  | Validate

/** Ask the app first. */
export type Validate = {
  kind: 'validate'
  /** It is stale; or the response wants it each time; or it is fresh, but not what the request asks for. */
  why: 'stale' | 'no-cache' | 'request'
  /** Whether to serve it when the app cannot be reached or answers with 500, 502, 503 or 504 (RFC 5861, section 4). */
  mayServeOnError: boolean
  /** Whether to serve it when the app cannot be reached, though not in place of its answer (RFC 9111, section 4.2.4). */
  mayServeOnFault?: boolean
  ageSeconds: number
  ttlSeconds: number
}

/** `bornMs` is given where the lifetime is shared by responses that were born at different times. */
export function decideUse(
  lifetime: Lifetime,
  requestHeaders: RequestHeaders,
  nowMs: number,
  bornMs = lifetime.bornMs,
): Use {
  // A clock that was set back makes nothing younger than new.
  const ageMs = Math.max(0, nowMs - bornMs)
  const ttlMs = lifetime.freshMs - ageMs
  const ageSeconds = Math.floor(ageMs / 1000)
  const ttlSeconds = Math.floor(ttlMs / 1000)
  const wishes = wishesOf(requestHeaders)
  const isUnwanted = wishes !== undefined && wantsAnother(wishes, ageMs, ttlMs)

  if (!lifetime.mustValidate && !isUnwanted) {
    if (ttlMs > 0) return { kind: 'fresh', ageSeconds, ttlSeconds }
    if (-ttlMs < lifetime.whileRevalidatingMs && !(wishes && refusesStale(wishes))) {
      return { kind: 'stale-while-revalidate', ageSeconds, ttlSeconds }
    }
    if (lifetime.mayBeStale && wishes && takesStale(wishes, -ttlMs)) {
      return { kind: 'stale-taken', ageSeconds, ttlSeconds }
    }
  }
  const why = lifetime.mustValidate ? 'no-cache' : ttlMs > 0 ? 'request' : 'stale'
  const mayServeOnError = !lifetime.mustValidate && coversErrors(lifetime, wishes, -ttlMs)
  const mayServeOnFault = mayServeOnError || (lifetime.mayBeStale && !isUnwanted)
  return { kind: 'validate', why, mayServeOnError, mayServeOnFault, ageSeconds, ttlSeconds }
}

/** Whether an error of the app may be hidden behind it: the response allows it, or the client asks for it. */
function coversErrors(lifetime: Lifetime, wishes: Directives | undefined, staleMs: number): boolean {
  if (lifetime.ifErrorMs > 0 && staleMs <= lifetime.ifErrorMs) return true
  const asked = wishes ? (seconds(wishes, 'stale-if-error') ?? 0) : 0
  return asked > 0 && lifetime.mayBeStale && staleMs <= asked * 1000
}

/** The request's directives; undefined in the common case that it has none. */
function wishesOf(headers: RequestHeaders): Directives | undefined {
  const value = headers['cache-control']
  // The word of HTTP/1.0 for it counts where there is no newer one (section 5.4).
  const { pragma } = headers
  if (value === undefined && pragma === undefined) return undefined
  if (value !== undefined) return readCacheControl(String(value))
  return readCacheControl(String(pragma)).has('no-cache') ? NO_CACHE : undefined
}

const NO_CACHE: Directives = new Map([['no-cache', true]])

function wantsAnother(wishes: Directives, ageMs: number, ttlMs: number): boolean {
  if (wishes.has('no-cache')) return true
  const maxAge = seconds(wishes, 'max-age')
  // A browser's reload asks with max-age=0, and wants the app to be asked even in the millisecond of the first answer.
  if (maxAge !== undefined && (maxAge === 0 || ageMs > maxAge * 1000)) return true
  const minFresh = seconds(wishes, 'min-fresh')
  return minFresh !== undefined && ttlMs < minFresh * 1000
}

/** Who names an age takes nothing stale, unless it says so (section 5.2.1.1). */
const refusesStale = (wishes: Directives): boolean => wishes.has('max-age') && !wishes.has('max-stale')

/** Without a value, however stale (section 5.2.1.2). */
function takesStale(wishes: Directives, staleMs: number): boolean {
  if (wishes.get('max-stale') === true) return true
  const maxStale = seconds(wishes, 'max-stale')
  return maxStale !== undefined && staleMs <= maxStale * 1000
}

export function readRequestWishes(requestHeaders: RequestHeaders): { noStore: boolean; onlyIfCached: boolean } {
  const wishes = requestField(requestHeaders, 'cache-control')
  if (wishes === undefined) return NO_WISHES
  const directives = readCacheControl(wishes)
  return { noStore: directives.has('no-store'), onlyIfCached: directives.has('only-if-cached') }
}

const NO_WISHES = { noStore: false, onlyIfCached: false }

/** Whether a stored response can answer this request now: RFC 9111, sections 4.2 and 5.2.1. */

import { type RequestHeaders, requestField } from '../fields/header-list.ts'
import { type Directives, readCacheControl, seconds } from './cache-control.ts'
import type { Lifetime } from './freshness.ts'

/** `ageSeconds` is for Age, `ttlSeconds` for Cache-Status: negative once it is stale. */
export type Use =
  | { kind: 'fresh'; ageSeconds: number; ttlSeconds: number }
  /** Serve it now and refresh it in the background. */
  | { kind: 'stale-while-revalidate'; ageSeconds: number; ttlSeconds: number }
  /** Serve it: the client accepts stale responses, and the response does not forbid it. */
  | { kind: 'stale-taken'; ageSeconds: number; ttlSeconds: number }
  | Validate

/** Ask the app first. */
export type Validate = {
  kind: 'validate'
  /**
   * It is stale; or it must be validated for every use; or it is fresh, but does not satisfy the request's directives; or it may
   * have been purged by now.
   */
  why: 'stale' | 'no-cache' | 'request' | 'cut-off'
  /** Whether to serve it when the app cannot be reached or answers with 500, 502, 503 or 504 (RFC 5861, section 4). */
  mayServeOnError: boolean
  /**
   * Whether to serve it when the app cannot be reached, though not in place of its answer (RFC 9111, section 4.2.4).
   */
  mayServeOnFault?: boolean
  ageSeconds: number
  ttlSeconds: number
}

/** `bornMs` is given where several responses of different times share the lifetime object. */
export function decideUse(
  lifetime: Lifetime,
  requestHeaders: RequestHeaders,
  nowMs: number,
  bornMs = lifetime.bornMs,
): Use {
  // A clock that was set back must not give a negative age.
  const ageMs = Math.max(0, nowMs - bornMs)
  const ttlMs = lifetime.freshMs - ageMs
  const ageSeconds = Math.floor(ageMs / 1000)
  const ttlSeconds = Math.floor(ttlMs / 1000)
  const requested = requestedBy(requestHeaders)
  const isUnwanted = requested !== undefined && wantsAnother(requested, ageMs, ttlMs)

  if (!lifetime.mustValidate && !isUnwanted) {
    if (ttlMs > 0) return { kind: 'fresh', ageSeconds, ttlSeconds }
    if (-ttlMs < lifetime.whileRevalidatingMs && !(requested && refusesStale(requested))) {
      return { kind: 'stale-while-revalidate', ageSeconds, ttlSeconds }
    }
    if (lifetime.mayBeStale && requested && takesStale(requested, -ttlMs)) {
      return { kind: 'stale-taken', ageSeconds, ttlSeconds }
    }
  }
  const why = lifetime.mustValidate ? 'no-cache' : ttlMs > 0 ? 'request' : 'stale'
  const mayServeOnError = !lifetime.mustValidate && coversErrors(lifetime, requested, -ttlMs)
  const mayServeOnFault = mayServeOnError || (lifetime.mayBeStale && !isUnwanted)
  return { kind: 'validate', why, mayServeOnError, mayServeOnFault, ageSeconds, ttlSeconds }
}

/** Whether it may replace an error of the app: the response allows it, or the request asks for it. */
function coversErrors(lifetime: Lifetime, requested: Directives | undefined, staleMs: number): boolean {
  if (lifetime.ifErrorMs > 0 && staleMs <= lifetime.ifErrorMs) return true
  const asked = requested ? (seconds(requested, 'stale-if-error') ?? 0) : 0
  return asked > 0 && lifetime.mayBeStale && staleMs <= asked * 1000
}

/** The request's directives; undefined in the common case that it has none. */
function requestedBy(headers: RequestHeaders): Directives | undefined {
  const value = headers['cache-control']
  // Pragma, from HTTP/1.0, counts where there is no Cache-Control (section 5.4).
  const { pragma } = headers
  if (value === undefined && pragma === undefined) return undefined
  if (value !== undefined) return readCacheControl(String(value))
  return readCacheControl(String(pragma)).has('no-cache') ? NO_CACHE : undefined
}

const NO_CACHE: Directives = new Map([['no-cache', true]])

function wantsAnother(requested: Directives, ageMs: number, ttlMs: number): boolean {
  if (requested.has('no-cache')) return true
  const maxAge = seconds(requested, 'max-age')
  // A browser's reload sends max-age=0 and expects a validation, even within the millisecond in which it was stored.
  if (maxAge !== undefined && (maxAge === 0 || ageMs > maxAge * 1000)) return true
  const minFresh = seconds(requested, 'min-fresh')
  return minFresh !== undefined && ttlMs < minFresh * 1000
}

/** A request with max-age accepts nothing stale, unless it has max-stale as well (section 5.2.1.1). */
const refusesStale = (requested: Directives): boolean => requested.has('max-age') && !requested.has('max-stale')

/** Without a value, max-stale accepts any staleness (section 5.2.1.2). */
function takesStale(requested: Directives, staleMs: number): boolean {
  if (requested.get('max-stale') === true) return true
  const maxStale = seconds(requested, 'max-stale')
  return maxStale !== undefined && staleMs <= maxStale * 1000
}

export function readRequestDirectives(requestHeaders: RequestHeaders): { noStore: boolean; onlyIfCached: boolean } {
  const requested = requestField(requestHeaders, 'cache-control')
  if (requested === undefined) return NO_DIRECTIVES
  const directives = readCacheControl(requested)
  return { noStore: directives.has('no-store'), onlyIfCached: directives.has('only-if-cached') }
}

const NO_DIRECTIVES = { noStore: false, onlyIfCached: false }

/** What an app is asked with, and what not, where its answer may be for many. */

import { headersOf } from '../store/object.ts'
import type { Stale } from './judge.ts'
import { conditionsFor } from './validation.ts'
import { normalizeAcceptEncoding } from './vary.ts'

/**
 * A GET that means another method, another host or another scheme would be stored as what it says that it is. Of what
 * proxies say about a visitor, the rest is left out for every request.
 */
export const OVERRIDES: ReadonlySet<string> = new Set([
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-host',
  'x-original-host',
  'x-http-host-override',
  'x-scheme',
  'x-url-scheme',
  'front-end-https',
])

/** What makes a response one reader's. */
const CONDITIONS = [
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
  'range',
  'accept-encoding',
]

/** What is not said to an app about something that others get as well. */
export const NOT_IN_FETCHES: ReadonlySet<string> = new Set([...OVERRIDES, ...CONDITIONS])

/** What is said in its place. */
export function toConditions(accepted: string | undefined, stale: Stale | undefined): string[] {
  const encodings = normalizeAcceptEncoding(accepted)
  const headers = encodings === 'identity' ? [] : ['accept-encoding', encodings]
  return stale ? headers.concat(conditionsFor(headersOf(stale.stored))) : headers
}

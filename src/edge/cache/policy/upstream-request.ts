/** Which request headers are sent to the app, where its response may be shared by many clients. */

import { headersOf } from '../store/object.ts'
import type { Stale } from './judge.ts'
import { conditionsFor } from './validation.ts'
import { normalizeAcceptEncoding } from './vary.ts'

/**
 * They make an app treat a GET as another method, host or scheme, while its response is stored as that of the plain
 * GET. Further headers of proxies are removed from every request, in `toUpstream`.
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

/** They make a response specific to one client. */
const CONDITIONS = [
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
  'range',
  'accept-encoding',
]

/** Not sent to the app where the response may be shared. */
export const NOT_IN_FETCHES: ReadonlySet<string> = new Set([...OVERRIDES, ...CONDITIONS])

/** Sent in their place. */
export function toConditions(accepted: string | undefined, stale: Stale | undefined): string[] {
  const encodings = normalizeAcceptEncoding(accepted)
  const headers = encodings === 'identity' ? [] : ['accept-encoding', encodings]
  return stale ? headers.concat(conditionsFor(headersOf(stale.stored))) : headers
}

/**
 * How often a request has passed an edge of Headland: the header CDN-Loop (RFC 8586) has one entry for each. It detects a loop
 * that goes through apps which forward headers, also over other machines. A client that sends entries of its own harms only
 * itself.
 */
import { trimBlanks } from '../../http/index.ts'

const OURS = 'headland'

/** The header that the app gets. Entries of other proxies are kept. */
export const withHop = (before: string | string[] | undefined): string =>
  before === undefined ? OURS : `${before}, ${OURS}`

export function hopsOf(value: string | string[] | undefined): number {
  if (value === undefined) return 0
  let hops = 0
  for (const entry of String(value).split(',')) {
    const [id = ''] = entry.split(';')
    if (trimBlanks(id).toLowerCase() === OURS) hops++
  }
  return hops
}

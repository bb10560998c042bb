/** What the service does by itself after an outage, in words. */
import type { Environment } from './types.ts'

export function retryInWords({ hosts, givenUp, rebuilds }: NonNullable<Environment['retry']>): string {
  const tried = rebuilds === 0 ? '' : ` It did so ${rebuilds === 1 ? 'once' : `${rebuilds} times`} already.`
  if (givenUp) return `Headland does not build it again by itself any more.${tried} Rebuild when the CMS is well.`
  const when =
    hosts.length > 0 ? `when ${hosts.join(' and ')} ${hosts.length > 1 ? 'answer' : 'answers'}` : 'in a while'
  return `Headland builds it again by itself ${when}.${tried}`
}

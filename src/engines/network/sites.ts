/**
 * How jobs reach the sites of this service: under the names and at the ports that visitors use, and nothing else of the machine.
 *
 *   name                                             inside of a job it is …          and leads to
 *   `localhost`, and every name that ends with it    127.0.0.1                        the edge, at the ports of visitors
 *   a site, where visitors use plain HTTP            the gateway                      the edge, at the ports of visitors
 *   a site, where visitors use TLS                   what DNS has for it              the proxy, if that is on this machine
 */
import { Resolver as DnsResolver } from 'node:dns/promises'
import { isIPv4 } from 'node:net'
import type { Resolver } from './dns/resolvers.ts'

export type SiteAccess = {
  /** Ports at which visitors reach the edge by plain HTTP. */
  ports: readonly number[]
  /** How the host names of environments end. */
  domain: string
  /** The port at which a proxy in front of the edge accepts TLS; undefined without one. */
  tlsPort?: number | undefined
  /** The addresses of that proxy as the operator gave them; empty: those that DNS has for names in the domain. */
  publicAddresses?: readonly string[]
}

export const NO_SITES: SiteAccess = { ports: [], domain: 'localhost' }

/** Whether a host is served by this service. */
export type IsSite = (host: string) => Promise<boolean>

export const isLocalhost = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

/** The ports at which a job's own 127.0.0.1 leads to the edge: programs resolve `*.localhost` to it without a query. */
export const loopbackPorts = ({ ports, domain }: SiteAccess): readonly number[] => (isLocalhost(domain) ? ports : [])

/** The address of a site for jobs; undefined for what the machine's own resolvers are to answer. */
export async function siteAddress(
  name: string,
  { ports, tlsPort }: SiteAccess,
  { isSite, gateway }: { isSite: IsSite; gateway: string },
): Promise<string | undefined> {
  if (ports.length === 0) return undefined
  if (isLocalhost(name)) return LOOPBACK
  return tlsPort === undefined && (await isSite(name)) ? gateway : undefined
}

export const LOOPBACK = '127.0.0.1'

/** A name that the wildcard record of the domain covers and no site has. */
const ANY_LABEL = 'headland-check'
const FRESH_MS = 60_000
const ANSWER_MS = 2000
/** A name with more addresses than this has a load balancer in front, not a proxy on this machine. */
const MAX_ADDRESSES = 16

/**
 * The addresses at which visitors reach the proxy in front. Only the operator decides them: names of tenants are not asked, or a
 * tenant could let a name of theirs lead to any address of this machine. What DNS had last is kept while it does not answer.
 */
export function watchProxyAddresses(
  { domain, tlsPort, publicAddresses = [] }: SiteAccess,
  resolvers: () => Promise<readonly Resolver[]>,
): () => Promise<readonly string[]> {
  const given = publicAddresses.filter((address) => isIPv4(address))
  if (tlsPort === undefined || isLocalhost(domain)) return async () => []
  if (publicAddresses.length > 0) return async () => given
  let known: readonly string[] = []
  let askedTime = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - askedTime < FRESH_MS) return known
    askedTime = performance.now()
    const resolver = new DnsResolver({ timeout: ANSWER_MS, tries: 1 })
    const servers = (await resolvers()).map(({ address, port }) => serverOf(address.replace(/%.*$/, ''), port))
    resolver.setServers(servers)
    known = await resolver.resolve4(`${ANY_LABEL}.${domain}`).then(
      (found) => found.slice(0, MAX_ADDRESSES).sort(),
      () => known,
    )
    return known
  }
}

const serverOf = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`

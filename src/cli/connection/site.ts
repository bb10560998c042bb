/**
 * Addresses of sites, and how to reach them. Browsers and curl resolve names under `localhost` to this machine, but the system
 * resolver of many Linux machines, which Node, Python and `getent` use, does not. So they are not resolved here.
 */
import { lookup as resolve } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { atEnvironment } from '../project/where.ts'
import { notAHeadland } from './failures.ts'
import { isThisMachine } from './proxy.ts'

export type Site = {
  url: URL
  /** The service that has the environment; undefined where a whole address was given. */
  service: URL | undefined
}

/** A path belongs to the environment that every other command would use; a whole address needs no environment. */
export async function findSite(call: ClientCall, given = '/'): Promise<Site> {
  if (!given.startsWith('/')) {
    const url = webAddress(given)
    if (url) return { url, service: undefined }
    throw new UsageError(`'${given}' is neither a path, as /news, nor an address that begins with http:// or https://`)
  }
  const { service, environment } = await atEnvironment(call)
  const { origin } = webAddress(environment.url) ?? {}
  if (origin === undefined) throw notAHeadland(service.url)
  // Joined as text: '//other.example' is a path here, and no address of another host.
  return { url: new URL(`${origin}${given}`), service: new URL(service.url) }
}

/** How the host name of a site is resolved; undefined for the system's resolver. */
export function lookupFor({ url, service }: Site): LookupFunction | undefined {
  if (!isLocalhost(url)) return undefined
  // Sites under localhost are on the machine of the service, which may be another one than this.
  if (service && !isThisMachine(service.hostname)) {
    const host = service.hostname.replace(/^\[(.*)\]$/, '$1')
    return (_name, options, done) => resolve(host, options, done)
  }
  return (_name, { all }, done) => {
    const [first] = LOOPBACK
    if (all) done(null, [...LOOPBACK])
    else done(null, first.address, first.family)
  }
}

const LOOPBACK = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
] as const

const isLocalhost = ({ hostname }: URL): boolean => /(^|\.)localhost\.?$/.test(hostname)

/** A note for the first time that the address of an environment is shown. */
export function noteOnAddress(address: string, service: string): string | undefined {
  const url = webAddress(address)
  if (!url || !isLocalhost(url)) return undefined
  return isThisMachine(new URL(service).hostname)
    ? "Browsers and curl know that *.localhost is this machine. Node, Python and others may not: 'headland curl /' works everywhere, and 'headland open' opens the site."
    : "*.localhost is each machine's own name for itself, and the service is on another one: 'headland curl /' asks there. Its setting 'domain' gives sites names that lead to it from everywhere."
}

function webAddress(text: string): URL | undefined {
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}

/** The address that a trace is about: it must be at a host of the environment. Pure. */
import { fieldInvalid } from '../../contract/index.ts'

/**
 * `site` is the address of the environment under its own host. A path is resolved there; a whole address keeps its scheme and
 * port, since they are part of the key of stored objects.
 */
export function addressOf(given: string, site: string, domains: readonly string[]): URL {
  // Concatenated and not resolved: `//elsewhere/` is a path here, and not a host.
  const url = URL.parse(given.startsWith('/') ? `${site}${given}` : given)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw fieldInvalid(
      'url',
      'must be a path that begins with a slash, or an address that begins with http:// or https://',
    )
  }
  const hosts = [new URL(site).hostname, ...domains]
  const host = url.hostname.replace(/\.$/, '')
  if (!hosts.includes(host)) throw fieldInvalid('url', `must be at a host of this environment: ${named(hosts)}`)
  // Browsers do not send these as part of the address, and the password is a secret.
  url.username = ''
  url.password = ''
  url.hash = ''
  return url
}

const MAX_NAMED = 5

const named = (hosts: readonly string[]): string =>
  hosts.slice(0, MAX_NAMED).join(', ') + (hosts.length > MAX_NAMED ? ', …' : '')

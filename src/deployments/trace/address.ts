/** Which address somebody asks about: one at a host of the environment, and at no other. Pure. */
import { fieldInvalid } from '../../contract/index.ts'

/**
 * `site` is where the environment answers under its own host. A path is taken to be there; a whole address keeps its scheme
 * and port, since they are part of what the edge finds stored objects by.
 */
export function addressOf(given: string, site: string, domains: readonly string[]): URL {
  // Put together and not resolved: `//elsewhere/` is a path here, and not a host.
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
  // Nothing of these reaches a server in this form, and one may be a secret.
  url.username = ''
  url.password = ''
  url.hash = ''
  return url
}

const MAX_NAMED = 5

const named = (hosts: readonly string[]): string =>
  hosts.slice(0, MAX_NAMED).join(', ') + (hosts.length > MAX_NAMED ? ', …' : '')

/**
 * The client that an address belongs to, for everything that is counted by address. One customer of an IPv6 network has
 * a /64 at least (RFC 6177), so its 2^64 addresses are one client; in IPv4 every address is one. An IPv4 address in
 * IPv6 form (RFC 4291, section 2.5.5.2) is the IPv4 address.
 */
import { isIPv6 } from 'node:net'

export function clientNetwork(address: string): string {
  if (!isIPv6(address)) return address
  const groups = groupsOf(address)
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') return toIPv4(groups.slice(6))
  return `${groups.slice(0, 4).join(':')}::/64`
}

/**
 * A network of many clients, for records that people read: it tells regions and providers apart, and no person. A /24 of IPv4
 * and a /48 of IPv6 are what is usually allotted to a site.
 */
export function truncateAddress(address: string): string {
  const client = clientNetwork(address)
  if (!client.includes(':')) return `${client.split('.').slice(0, 3).join('.')}.0/24`
  return `${client.split(':').slice(0, 3).join(':')}::/48`
}

/** All eight groups in lower case without leading zeros, however the address is spelled. */
export function groupsOf(address: string): string[] {
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`)
  const [head = '', tail] = hostname.slice(1, -1).split('::')
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]]
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after]
}

const toIPv4 = (groups: readonly string[]): string =>
  groups
    .map((group) => Number.parseInt(group, 16))
    .flatMap((bits) => [bits >> 8, bits & 0xff])
    .join('.')

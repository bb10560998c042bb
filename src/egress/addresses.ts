/**
 * Which addresses the service calls for tenants: those of the internet. An address inside (this machine, private networks, the
 * metadata service of a cloud) is never called by its number or by a name that leads to it, unless the operator allows the host.
 */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createAddressMatch, isAllowedHost, isPrivate, readAddressRange } from '../http/index.ts'

export type HostRules = {
  /** In the form of the setting `egressHosts`. They may be inside, and may be called over plain HTTP. */
  allowedHosts: readonly string[]
  /** Addresses of this service, beside those of the machine's interfaces. */
  ownAddresses: readonly string[]
  /** Ranges that the operator closes to tenants, beside the private ones. */
  blockedNetworks: readonly string[]
}

/** Forms of IPv6 that lead to an IPv4 address: by NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380) and in the old forms. */
const isTranslated = createAddressMatch(['2002::/16', '2001::/32', '::/96', '::ffff:0:0:0/96'])
const isNat64 = createAddressMatch(['64:ff9b::/96'])

export function createAddressRules({ allowedHosts, ownAddresses, blockedNetworks }: HostRules) {
  const isBlocked = createAddressMatch([...blockedNetworks, ...ownAddresses])

  return {
    /** `origin` is that of a URL object. */
    isAllowedByOperator: (origin: string): boolean => isAllowedHost(allowedHosts, origin),

    /** Whether a tenant must not have it called. */
    isInside(address: string): boolean {
      const read = isIP(address) === 0 || address.includes('%') ? undefined : readAddressRange(address)
      if (!read) return true
      const plain = isNat64(read.address) ? embeddedIpv4(read.address) : read.address
      return isPrivate(plain) || isTranslated(plain) || isBlocked(plain) || isOfThisMachine(plain)
    },
  }
}

export type AddressRules = ReturnType<typeof createAddressRules>

/** The last 32 bits, as an IPv4 address. */
function embeddedIpv4(address: string): string {
  const mapped = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':')
  const [high = 0, low = 0] = mapped.slice(-2).map((group) => Number.parseInt(group || '0', 16))
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

/** They may change while the service runs. */
function isOfThisMachine(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return createAddressMatch(own.map((one) => one.address.replace(/%.*$/, '')))(address)
}

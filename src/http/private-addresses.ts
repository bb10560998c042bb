/** Addresses that belong to private networks. */
import { BlockList, isIP } from 'node:net'

/** Ranges that no visitor from the internet can reach (RFC 6890), with those for multicast and for benchmarks. */
const PRIVATE_RANGES: readonly (readonly [network: string, bits: number, family: 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 96, 'ipv6'],
  ['::ffff:0:0', 96, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['100::', 64, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
]

/** One list for each family: a BlockList compares IPv4 addresses in their mapped form with IPv6 ranges, too. */
const privateNetworks = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const [network, bits, family] of PRIVATE_RANGES) privateNetworks[family].addSubnet(network, bits, family)

export function isPrivate(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  return privateNetworks[family].check(address, family)
}

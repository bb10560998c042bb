/** Addresses and ranges of addresses (RFC 4632, RFC 4291), as `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`. */
import { BlockList, isIP } from 'node:net'
import { groupsOf } from './client-network.ts'

export type AddressRange = { family: 'ipv4' | 'ipv6'; address: string; bits: number }

/** Undefined for text that is none. An IPv4 address in IPv6 form is read as the IPv4 address. */
export function readAddressRange(text: string): AddressRange | undefined {
  const [, address = '', length] = /^([0-9a-f.:]{2,45})(?:\/(0|[1-9]\d{0,2}))?$/i.exec(text) ?? []
  const version = isIP(address)
  if (version === 0) return undefined
  const bytes = version === 4 ? address.split('.').map(Number) : groupsOf(address).flatMap(bytesOfGroup)
  const bits = length === undefined ? bytes.length * 8 : Number(length)
  if (bits > bytes.length * 8) return undefined
  const isMapped = version === 6 && bits >= MAPPED_BITS && MAPPED.every((byte, at) => bytes[at] === byte)
  return isMapped ? toRange(bytes.slice(MAPPED.length), bits - MAPPED_BITS) : toRange(bytes, bits)
}

/** The same text for the same range: the bits behind its length are zero, and the length is left out for one address. */
export function writeAddressRange({ family, address, bits }: AddressRange): string {
  return bits === (family === 'ipv4' ? 32 : 128) ? address : `${address}/${bits}`
}

/** Returns whether an address is in one of the ranges. Malformed ranges contain none. */
export function createAddressMatch(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const text of ranges) {
    const range = readAddressRange(text)
    if (range) list.addSubnet(range.address, range.bits, range.family)
  }
  return (text) => {
    const one = readAddressRange(text)
    return one !== undefined && !text.includes('/') && list.check(one.address, one.family)
  }
}

/** `::ffff:0:0/96` (RFC 4291, section 2.5.5.2). */
const MAPPED = [...Array<number>(10).fill(0), 0xff, 0xff]
const MAPPED_BITS = MAPPED.length * 8

function bytesOfGroup(group: string): [number, number] {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 0xff]
}

function toRange(bytes: readonly number[], bits: number): AddressRange {
  const kept = bytes.map((byte, at) => byte & maskOf(bits - at * 8))
  if (kept.length === 4) return { family: 'ipv4', address: kept.join('.'), bits }
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((kept[at * 2] as number) << 8) | (kept[at * 2 + 1] as number)).toString(16),
  )
  return { family: 'ipv6', address: new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1), bits }
}

/** The bits of a byte that belong to the range, of which `bits` are left. */
const maskOf = (bits: number): number => (bits >= 8 ? 0xff : bits <= 0 ? 0 : (0xff << (8 - bits)) & 0xff)

/** IPv4 addresses and ranges of them, as numbers. */

export type Range = { first: number; bits: number }

export function parseAddress(text: string): number | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined
  return parts.reduce((number, part) => number * 256 + Number(part), 0)
}

export const formatAddress = (address: number): string =>
  [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.')

/** `10.0.0.0/8`, or a single address. Undefined for a range that does not begin at its first address. */
export function parseRange(text: string): Range | undefined {
  const [, start = '', length = '32'] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(text) ?? []
  const first = parseAddress(start)
  const bits = Number(length)
  if (first === undefined || bits > 32 || first % sizeOf({ first, bits }) !== 0) return undefined
  return { first, bits }
}

export const formatRange = ({ first, bits }: Range): string =>
  bits === 32 ? formatAddress(first) : `${formatAddress(first)}/${bits}`

export const sizeOf = ({ bits }: Range): number => 2 ** (32 - bits)

export const contains = (range: Range, address: number): boolean =>
  address >= range.first && address < range.first + sizeOf(range)

export const overlaps = (one: Range, other: Range): boolean => contains(one, other.first) || contains(other, one.first)

/** A thousand jobs for each service, and 64 services in the default range. */
const BLOCK_BITS = 22

/**
 * The part of a range that a service takes for itself: the first one that overlaps with no route in use. Services on one
 * machine begin the search at different blocks, so that they seldom choose the same.
 */
export function chooseBlock(range: Range, inUse: readonly Range[], start: number): Range | undefined {
  const bits = Math.max(BLOCK_BITS, range.bits)
  const count = 2 ** (bits - range.bits)
  for (let step = 0; step < count; step++) {
    const block = { first: range.first + ((start + step) % count) * sizeOf({ first: 0, bits }), bits }
    if (!inUse.some((other) => overlaps(block, other))) return block
  }
  return undefined
}

/** Content negotiation, conditions and ranges: RFC 9110, sections 12 to 14. */
import { trimBlanks } from '../../http/index.ts'

export type Encoding = 'br' | 'gzip' | 'identity'

/**
 * A longer list is not parsed: a client may send thirty kilobytes of it with every request, and no browser sends more
 * than a few hundred bytes. The functions below document what applies instead.
 */
export const MAX_LIST_LENGTH = 1024

/**
 * The available encoding that the client prefers, the first of them where it has no preference. Where it accepts none
 * of them, or its list is too long, it gets the file unencoded (section 12.5.3 allows it), which every client
 * understands.
 */
export function chooseEncoding(acceptEncoding: string | undefined, available: readonly Encoding[]): Encoding {
  if (!acceptEncoding || acceptEncoding.length > MAX_LIST_LENGTH) return 'identity'
  const weights = new Map<string, number>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';')
    weights.set(trimBlanks(name), readWeight(parameters))
  }
  const everythingElse = weights.get('*') ?? 0
  let best: Encoding = 'identity'
  let bestWeight = 0
  for (const encoding of available) {
    const weight = weights.get(encoding) ?? everythingElse
    if (weight > bestWeight) [best, bestWeight] = [encoding, weight]
  }
  // A client that does not list `identity` accepts it, but prefers every encoding that it lists.
  return (weights.get('identity') ?? 0) > bestWeight ? 'identity' : best
}

function readWeight(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [, weight] = /^[ \t]*q[ \t]*=[ \t]*([\d.]+)[ \t]*$/.exec(parameter) ?? []
    if (weight !== undefined) return Math.min(Number(weight) || 0, 1)
  }
  return 1
}

/**
 * Whether the client's copy is current: a list of tags, compared weakly (section 13.1.2). False for a list that is too
 * long.
 */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined || ifNoneMatch.length > MAX_LIST_LENGTH) return false
  if (trimBlanks(ifNoneMatch) === '*') return true
  for (const [tag] of ifNoneMatch.matchAll(/"[^"]*"/g)) if (tag === etag) return true
  return false
}

/** Unambiguous about blanks, so that it takes linear time for any input. */
const RANGE = /^bytes=[ \t]*(?:(\d+)[ \t]*)?-[ \t]*(?:(\d+)[ \t]*)?$/i

export type Part = { start: number; end: number }

/**
 * The part that a Range header asks for, its end included; `whole` where the header must be ignored: another unit, bad
 * syntax, several ranges (section 14.2 allows it), or a copy that has changed since (If-Range).
 */
export function readRange(
  range: string | undefined,
  ifRange: string | undefined,
  { size, etag }: { size: number; etag: string },
): Part | 'whole' | 'unsatisfiable' {
  if (range === undefined) return 'whole'
  if (ifRange !== undefined && trimBlanks(ifRange) !== etag) return 'whole'
  const [, first = '', last = ''] = RANGE.exec(range) ?? []
  if (first === '' && last === '') return 'whole'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < start) return 'whole'
  return start >= size ? 'unsatisfiable' : { start, end }
}

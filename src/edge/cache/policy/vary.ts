/**
 * Which of several responses under one key a request gets: the one that was stored for a request with the same values
 * of the headers that Vary names (RFC 9111, section 4.1).
 */
import { lowerAscii, trimBlanks } from '../../../http/index.ts'
import { MAX_LIST_LENGTH } from '../../http/negotiate.ts'
import { membersOf, type RequestHeaders, requestField } from '../fields/header-list.ts'

/**
 * One string for the values of those headers, equal exactly when the variant is the same. Two lines for each header,
 * which cannot contain a line feed itself: its name, and a colon with its value. An absent header differs from an empty
 * one.
 */
export function variantOf(vary: readonly string[], requestHeaders: RequestHeaders): string {
  let variant = ''
  for (const name of vary) {
    const value = toPlain(name, requestField(requestHeaders, name))
    variant += value === undefined ? `${name}\n\n` : `${name}\n:${value}\n`
  }
  return variant
}

/** The headers of a variant and their values, for display; absent ones are left out. */
export function readVariant(variant: string): Record<string, string> {
  const lines = variant.split('\n')
  const headers: Record<string, string> = {}
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [name = '', value = ''] = lines.slice(at, at + 2)
    if (value !== '') headers[name] = value.slice(1)
  }
  return headers
}

/** The same string for equivalent values, and for no others. */
function toPlain(name: string, value: string | undefined): string | undefined {
  if (name === 'accept-encoding') return normalizeAcceptEncoding(value)
  if (value === undefined) return undefined
  // Not normalized: a different spelling becomes another variant, which is always correct.
  if (value.length > MAX_LIST_LENGTH) return value
  if (name === 'accept-language') return toPlainLanguages(value)
  // Not lists, or lists whose members may contain commas: compared character by character.
  if (OPAQUE.has(name) || value.includes('"')) return value
  return value.includes(',') ? membersOf(value).join(',') : trimBlanks(value)
}

const OPAQUE = new Set(['authorization', 'cookie', 'referer', 'user-agent'])

/** Case and order do not matter, only the weights do (RFC 9110, section 12.5.4). */
function toPlainLanguages(value: string): string {
  return membersOf(lowerAscii(value))
    .map((member) => {
      const { name, weight } = readWeighted(member)
      return `${name};q=${weight}`
    })
    .sort()
    .join(',')
}

/**
 * Reduced to the encodings that we and the apps produce: `br, gzip`, `br`, `gzip` or `identity`. It is sent to the app
 * in place of the original, so that browsers with different lists share stored responses.
 */
export function normalizeAcceptEncoding(value: string | undefined): string {
  switch (value) {
    case undefined:
    case '':
      return 'identity'
    // Chrome and Firefox, Safari, and both without TLS.
    case 'gzip, deflate, br, zstd':
    case 'gzip, deflate, br':
      return 'br, gzip'
    case 'gzip, deflate':
      return 'gzip'
    default:
      return value.length > MAX_LIST_LENGTH ? 'identity' : readAcceptEncoding(value)
  }
}

function readAcceptEncoding(value: string): string {
  const weights = new Map<string, number>()
  for (const member of membersOf(lowerAscii(value))) {
    const { name, weight } = readWeighted(member)
    // An alias (RFC 9110, section 8.4.1.3).
    weights.set(name === 'x-gzip' ? 'gzip' : name, weight)
  }
  const others = weights.get('*') ?? 0
  const accepted = ['br', 'gzip'].filter((encoding) => (weights.get(encoding) ?? others) > 0)
  return accepted.length > 0 ? accepted.join(', ') : 'identity'
}

/** A malformed weight counts as 0: an unencoded response is safer than one that the client may not accept. */
function readWeighted(member: string): { name: string; weight: number } {
  const [name = '', ...parameters] = member.split(';').map(trimBlanks)
  const stated = parameters.find((parameter) => /^q[ \t]*=/.test(parameter))
  if (stated === undefined) return { name, weight: 1 }
  const [, digits] = /^q[ \t]*=[ \t]*(0(?:\.\d*)?|1(?:\.0*)?)$/.exec(stated) ?? []
  return { name, weight: Number(digits ?? 0) }
}

/**
 * The host label of an environment: readable, and random enough (50 bits) that no choice of an app's name leads to
 * another environment's host. A DNS label: lower-case letters, digits and single hyphens, at most 63 characters.
 */
import { randomBytes } from 'node:crypto'

/** Crockford's base 32: no letter that looks like a digit. 32 symbols, so a byte modulo 32 is not biased. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const RANDOM_LENGTH = 10

export function newHostLabel(appName: string): string {
  const readable = appName
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  const random = Array.from(randomBytes(RANDOM_LENGTH), (byte) => ALPHABET[byte % 32]).join('')
  return `${readable}-${random}`
}

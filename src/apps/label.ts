/**
 * The host label of an environment: readable, and random enough (50 bits) that no choice of an app's name leads to
 * another environment's host. A DNS label: lower-case letters, digits and single hyphens, at most 63 characters.
 */
import { hash, randomBytes } from 'node:crypto'

/** Crockford's base 32: no letter that looks like a digit. 32 symbols, so a byte modulo 32 is not biased. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const RANDOM_LENGTH = 10

const MAX_LENGTH = 63

export function newHostLabel(appName: string): string {
  return `${readable(appName)}-${toText(randomBytes(RANDOM_LENGTH))}`
}

/**
 * The same for a branch of an app each time, so that links to its preview go on to work when it is made again. The end is a
 * digest of the app's id and the branch: two branches that read the same have different labels.
 */
export function previewHostLabel(appName: string, appId: string, branch: string): string {
  const end = toText(hash('sha256', `${appId} ${branch}`, 'buffer').subarray(0, RANDOM_LENGTH))
  const begin = [readable(appName), readable(branch)].filter((part) => part !== '').join('-')
  return `${begin.slice(0, MAX_LENGTH - RANDOM_LENGTH - 1).replace(/-$/, '')}-${end}`
}

const readable = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')

const toText = (bytes: Buffer): string => Array.from(bytes, (byte) => ALPHABET[byte % 32]).join('')

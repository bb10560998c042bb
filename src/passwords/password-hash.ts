/**
 * Passwords hashed with scrypt at OWASP's second set of parameters (N=2^15, r=8, p=3: 32 MiB, with the platform's own
 * scrypt). Each call takes a thread of the pool for a tenth of a second or more: callers limit how many run at a time.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)
const COST = { N: 2 ** 15, r: 8, p: 3 } as const
const SALT_BYTES = 16
const KEY_BYTES = 32

export async function makePasswordHash(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return toText(salt, await run(password, salt, COST))
}

export async function matchesPasswordHash(password: string, stored: string): Promise<boolean> {
  const { cost, salt, key } = parse(stored)
  return timingSafeEqual(await run(password, salt, cost), key)
}

/** A hash of no password, which costs as much to compare. */
export const randomPasswordHash = (): string => toText(randomBytes(SALT_BYTES), randomBytes(KEY_BYTES))

/** Throws unless it has the parameters of this version: with larger ones, one comparison would take the whole machine. */
export function checkPasswordHash(stored: unknown): string {
  const isOurs = typeof stored === 'string' && stored.startsWith(PREFIX) && REST.test(stored.slice(PREFIX.length))
  if (!isOurs) throw new Error('it is not the hash of a password')
  return stored
}

const PREFIX = `scrypt$${COST.N}$${COST.r}$${COST.p}$`
const REST = /^[\w-]{22}\$[\w-]{43}$/

const toText = (salt: Buffer, key: Buffer): string =>
  `${PREFIX}${salt.toString('base64url')}$${key.toString('base64url')}`

function parse(stored: string) {
  const [scheme, N, r, p, salt, key] = stored.split('$')
  if (scheme !== 'scrypt' || !salt || !key) throw new Error('a stored password hash is malformed')
  return {
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    key: Buffer.from(key, 'base64url'),
  }
}

function run(password: string, salt: Buffer, cost: { N: number; r: number; p: number }): Promise<Buffer> {
  return derive(password.normalize('NFC'), salt, KEY_BYTES, { ...cost, maxmem: 256 * cost.N * cost.r })
}

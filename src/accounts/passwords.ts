/**
 * Passwords of people, hashed with scrypt at OWASP's second set of parameters (N=2^15, r=8, p=3: 32 MiB, with the
 * platform's own scrypt). All hashes of the process share one queue.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { createPasswordQueue, type Turn } from './password-queue.ts'

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)
const COST = { N: 2 ** 15, r: 8, p: 3 } as const
const KEY_BYTES = 32

/** One for the process, which has one set of processors and one thread pool. */
export const passwordQueue = createPasswordQueue()

export async function hashPassword(password: string, turn: Turn): Promise<string> {
  const salt = randomBytes(16)
  const key = await turn(() => run(password, salt, COST))
  return `scrypt$${COST.N}$${COST.r}$${COST.p}$${salt.toString('base64url')}$${key.toString('base64url')}`
}

/**
 * Without a stored hash it does the same work and returns false, so that the time of the answer does not reveal whether
 * the user exists.
 */
export async function verifyPassword(password: string, stored: string | undefined, turn: Turn): Promise<boolean> {
  const { cost, salt, key } = stored ? parse(stored) : NO_USER
  const given = await turn(() => run(password, salt, cost))
  return timingSafeEqual(given, key) && stored !== undefined
}

const NO_USER = { cost: COST, salt: randomBytes(16), key: randomBytes(KEY_BYTES) }

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

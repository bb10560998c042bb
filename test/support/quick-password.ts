/**
 * Hashes of passwords that are compared in no time, for tests that compare many: a stored hash has the parameters that it is
 * compared with.
 */
import { randomBytes, scryptSync } from 'node:crypto'

const COST = { N: 16, r: 8, p: 1 }

export function quickPasswordHash(password: string): string {
  const salt = randomBytes(16)
  const key = scryptSync(password, salt, 32, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), key.toString('base64url')].join('$')
}

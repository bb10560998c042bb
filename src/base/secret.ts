/** Secrets: made, hashed, compared, and kept from being printed by accident. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

/** Holds a secret so that only `reveal()` shows it: a log line, an error or a JSON reply shows `[secret]`. */
export class Secret {
  readonly #value: string
  constructor(value: string) {
    this.#value = value
  }
  reveal(): string {
    return this.#value
  }
  toString(): string {
    return '[secret]'
  }
  toJSON(): string {
    return '[secret]'
  }
  [inspect.custom](): string {
    return '[secret]'
  }
}

/** 256 random bits in the alphabet `[A-Za-z0-9_-]`. */
export const randomToken = (): string => randomBytes(32).toString('base64url')

/**
 * The digest under which a random token is stored. A plain hash is enough for a token of 256 random bits: it cannot be
 * guessed, so a slow hash would add no protection. Passwords of people are hashed elsewhere, slowly.
 */
export const digestOf = (token: string): string => hash('sha256', token, 'base64url')

/** Compares two strings of equal length in constant time. */
export function sameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

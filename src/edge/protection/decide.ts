/**
 * Whether a visitor may see an environment. The address comes first: from elsewhere, nothing is asked and no password is
 * compared.
 *
 *   not one of the addresses                        → forbidden
 *   no password is set, or the cookie is right      → allow
 *   a password is sent with the request (Basic)     → verify, which takes time
 *   anything else                                   → ask
 */
import { createAddressMatch } from '../../http/index.ts'
import type { Protection } from '../routes.ts'
import { hasUnlockCookie } from './cookie.ts'

export type Visitor = {
  /** Undefined where it is not known. */
  address: string | undefined
  cookies: string | undefined
  authorization: string | undefined
  nowMs: number
}

export type Verdict = { kind: 'allow' } | { kind: 'ask' } | { kind: 'forbidden' } | { kind: 'verify'; password: string }

export function decide(environment: string, protection: Protection, visitor: Visitor): Verdict {
  const { password } = protection
  if (protection.addresses && !isAmong(protection.addresses, visitor.address)) return { kind: 'forbidden' }
  if (!password) return { kind: 'allow' }
  const lock = { environment, cookieKey: password.cookieKey }
  if (hasUnlockCookie(lock, visitor.cookies, visitor.nowMs)) return { kind: 'allow' }
  const sent = basicPassword(visitor.authorization)
  return sent === undefined ? { kind: 'ask' } : { kind: 'verify', password: sent }
}

const matches = new WeakMap<readonly string[], (address: string) => boolean>()

function isAmong(addresses: readonly string[], address: string | undefined): boolean {
  if (address === undefined) return false
  const match = matches.get(addresses) ?? createAddressMatch(addresses)
  matches.set(addresses, match)
  return match(address)
}

/** The password of Basic credentials (RFC 7617), whatever the user name is; undefined for anything else. */
function basicPassword(authorization: string | undefined): string | undefined {
  const [, token] = /^basic +([A-Za-z0-9+/_-]{1,2048}={0,2})$/i.exec(authorization ?? '') ?? []
  if (token === undefined) return undefined
  const text = Buffer.from(token, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : text.slice(colon + 1)
}

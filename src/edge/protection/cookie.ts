/**
 * The cookie of a visitor who knew the password: a time, and a signature of that time and the environment. The key of the
 * signature belongs to one password of one environment, so another password ends all cookies, and a cookie of another
 * environment is worth nothing. All edges have the same key, also after a restart.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { trimBlanks } from '../../http/index.ts'

const NAME = 'headland_unlock'
const LIFETIME_SECONDS = 30 * 24 * 60 * 60

/** A visitor may have some more by this name, set by another host of the same domain. */
const MAX_TRIED = 16

type Lock = { environment: string; cookieKey: string }

/** The value of Set-Cookie. */
export function unlockCookie(lock: Lock, { nowMs, isSecure }: { nowMs: number; isSecure: boolean }): string {
  const expires = Math.floor(nowMs / 1000) + LIFETIME_SECONDS
  const value = `${expires}.${signatureOf(lock, String(expires)).toString('base64url')}`
  const secure = isSecure ? '; Secure' : ''
  return `${NAME}=${value}; Path=/; Max-Age=${LIFETIME_SECONDS}; HttpOnly; SameSite=Lax${secure}`
}

/** Whether a Cookie header has a cookie of this lock that has not expired. */
export function hasUnlockCookie(lock: Lock, cookies: string | undefined, nowMs: number): boolean {
  if (!cookies?.includes(NAME)) return false
  const values = cookies.split(';').map(trimBlanks).filter(isOurs).slice(0, MAX_TRIED)
  return values.some((pair) => isRight(lock, pair.slice(NAME.length + 1), nowMs))
}

/** The header without our cookies; undefined when nothing is left of it. */
export function withoutUnlockCookie(cookies: string): string | undefined {
  if (!cookies.includes(NAME)) return cookies
  const kept = cookies.split(';').map(trimBlanks)
  return kept.filter((pair) => pair !== '' && !isOurs(pair)).join('; ') || undefined
}

const isOurs = (pair: string): boolean => pair.startsWith(NAME) && pair[NAME.length] === '='

function isRight(lock: Lock, value: string, nowMs: number): boolean {
  const [, expires, signature] = /^(\d{1,12})\.([\w-]{43})$/.exec(value) ?? []
  if (expires === undefined || signature === undefined || Number(expires) * 1000 <= nowMs) return false
  return timingSafeEqual(Buffer.from(signature, 'base64url'), signatureOf(lock, expires))
}

const signatureOf = ({ environment, cookieKey }: Lock, expires: string): Buffer =>
  createHmac('sha256', cookieKey).update(`visitor of ${environment} until ${expires}`).digest()

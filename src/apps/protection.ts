/**
 * Who may see an environment, as it is stored. Of the password there is only a hash. The key that signs visitors' cookies
 * is derived from the master key and that hash: nothing of it is stored, all edges have the same one also after a
 * restart, and another password, even the same one set again, ends all cookies.
 */

import { fieldInvalid, LIMITS, type resources } from '../contract/index.ts'
import { readAddressRange, writeAddressRange } from '../http/index.ts'
import { checkPasswordHash } from '../passwords/index.ts'
import type { Vault } from '../storage/index.ts'

export type StoredProtection = { passwordHash: string | null; addresses: readonly string[] }

export const NO_PROTECTION: StoredProtection = { passwordHash: null, addresses: [] }

export const shownProtection = ({ passwordHash, addresses }: StoredProtection): resources.Protection => ({
  hasPassword: passwordHash !== null,
  addresses: [...addresses],
})

/** Each spelled in one way, none twice. */
export function checkAddresses(given: readonly string[]): string[] {
  const found = given.map((text, index) => {
    const range = readAddressRange(text)
    if (range) return writeAddressRange(range)
    throw fieldInvalid(
      `protection.addresses[${index}]`,
      'must be an IPv4 or IPv6 address, or a range such as 203.0.113.0/24',
    )
  })
  return [...new Set(found)]
}

export const writeProtection = (protection: StoredProtection): string | null =>
  protection.passwordHash === null && protection.addresses.length === 0 ? null : JSON.stringify(protection)

export const readProtection = (text: string | null): StoredProtection =>
  text === null ? NO_PROTECTION : checkProtection(JSON.parse(text))

/** Throws unless it is as `writeProtection` writes it: the edges do what it says. */
export function checkProtection(value: StoredProtection): StoredProtection {
  const { passwordHash, addresses } = value
  if (passwordHash !== null) checkPasswordHash(passwordHash)
  const isList = Array.isArray(addresses) && addresses.length <= LIMITS.protectionAddresses
  if (!isList || !addresses.every((one) => typeof one === 'string' && readAddressRange(one)))
    throw new Error('it is not a list of addresses')
  return { passwordHash, addresses }
}

/** Signs the cookies of visitors who know the password with this hash. */
export const createCookieKeys =
  ({ vault }: { vault: Pick<Vault, 'derive'> }) =>
  (environmentId: string, passwordHash: string): string =>
    vault.derive(`environments/${environmentId}/visitors/${passwordHash}`)

export type CookieKeys = ReturnType<typeof createCookieKeys>

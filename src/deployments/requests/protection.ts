/** Who may see an environment, as it is asked for. A password is hashed before the transaction, since that takes long. */
import { hashVisitorsPassword } from '../../accounts/index.ts'
import { checkAddresses, NO_PROTECTION, type StoredProtection } from '../../apps/index.ts'
import type { resources } from '../../contract/index.ts'

/** What changes of it; what is undefined stays. */
export type ProtectionChange = Partial<StoredProtection>

/** `given` is undefined where the whole protection is cleared. */
export async function readProtectionChange(
  accountId: string,
  given: resources.ChangedProtection | undefined,
): Promise<ProtectionChange> {
  if (!given) return NO_PROTECTION
  const { password, addresses } = given
  return {
    // Before the hash: a request that is refused should cost little.
    ...(addresses === undefined ? {} : { addresses: checkAddresses(addresses) }),
    ...(password === undefined
      ? {}
      : { passwordHash: password === null ? null : await hashVisitorsPassword(accountId, password) }),
  }
}

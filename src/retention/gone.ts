/**
 * The history of deleted environments is bounded, or a client that creates and deletes environments all day would fill the
 * database. Of each account the newest stay known: that they were created, and how they were deleted. All else is removed.
 */
import type { Accounts } from '../accounts/index.ts'
import type { Environments } from '../apps/index.ts'
import type { Operations } from '../operations/index.ts'

/** Deleted environments of one account that are still known. */
const KEPT = 1000
/** Creations and deletions that are read at a time. */
const MAX_READ = 10_000
/** An environment that exists may have a creation and a deletion that failed. */
const READ_PER_EXISTING = 2

type Parts = {
  accounts: Pick<Accounts, 'list'>
  environments: Pick<Environments, 'all'>
  operations: Pick<Operations, 'environmentsOf' | 'removeAllOf' | 'removeWorkOf' | 'abridgeCreations'>
  kept?: number
}

export function createForgetGone({ accounts, environments, operations, kept = KEPT }: Parts) {
  /** Deleted environments, the newest first. */
  async function goneOf(accountId: string): Promise<string[]> {
    const existing = new Set((await environments.all(accountId)).map(({ id }) => id))
    const known = await operations.environmentsOf(accountId, MAX_READ + READ_PER_EXISTING * existing.size)
    return known.filter((id) => !existing.has(id))
  }

  /** Resolves to the number of removed operations. */
  return async function forgetGone(signal: AbortSignal): Promise<number> {
    let count = 0
    for (const { id } of await accounts.list()) {
      if (signal.aborted) break
      const gone = await goneOf(id)
      const newest = gone.slice(0, kept)
      count += await operations.removeWorkOf(newest)
      count += await operations.removeAllOf(gone.slice(kept))
      await operations.abridgeCreations(newest)
    }
    return count
  }
}

/**
 * Clearing the cache as an operation with one step. The app's own cache and the edge have done it before anything is written down, and the operation
 * is written down as done: so it waits for no build of the environment, and needs no worker.
 */
import type { Account } from '../../accounts/index.ts'
import type { Environments } from '../../apps/index.ts'
import { fieldInvalid, LIMITS } from '../../contract/index.ts'
import type { Finish, Operation, Operations } from '../../operations/index.ts'
import type { Sql } from '../../storage/index.ts'
import type { Asked, Ledger } from '../../triggers/index.ts'
import { abridge, isOfNothing, type Purged, type Purges } from '../purges.ts'
import { requireOpen } from './require-open.ts'

type Parts = {
  sql: Sql
  environments: Environments
  operations: Operations
  purges: Pick<Purges, 'everywhere'>
  ledger: Ledger
  finishWithEnvironment(operation: Operation): Finish
}

/** As many as the ledger has entries of: whoever knows a URL that purges may call it all day. */
const PURGES_KEPT = LIMITS.triggersKeptOfWebhooks + LIMITS.triggersKeptOfApi + LIMITS.triggersKeptOfApp

/** Purges whose answer shows the environment: it may name 500 variables, and there may be thousands of purges. */
const ANSWERS_KEPT = 20

/** Whoever asked before it began may ask together: one purge does for all of them. */
export type ClearCache = (
  account: Account,
  appName: string,
  id: string,
  what: Purged,
  asked: readonly Asked[],
) => Promise<Operation>

export function createClearCache(parts: Parts): ClearCache {
  const { sql, environments, operations, purges, ledger, finishWithEnvironment } = parts

  return async (account, appName, id, what, asked) => {
    const { paths = [], tags = [] } = what
    if (isOfNothing(what)) throw fieldInvalid('paths', 'names nothing; leave paths and tags out to clear everything')
    if (paths.length + tags.length > LIMITS.purgeEntries) {
      throw fieldInvalid('paths', `must not have more than ${LIMITS.purgeEntries} entries together with tags`)
    }
    const { environment, path } = await requireOpen(sql, environments, account, appName, id)
    await purges.everywhere(environment, what)
    return sql.transaction(async (tx) => {
      const finish = (operation: Operation) => finishWithEnvironment(operation)(tx)
      const requestedBy = asked[0]?.requestedBy ?? null
      const done = await operations.record(tx, path, 'PURGE_CACHE', finish, { requestedBy })
      await operations.abridgePurge(tx, path, ANSWERS_KEPT)
      const outcome = { answer: 200, operationId: done.id, purged: abridge(what) }
      const { isPruned } = await ledger.add(tx, id, asked, outcome)
      if (isPruned) {
        const oldest = await ledger.oldestPurge(tx, id)
        await operations.forgetPurges(tx, path, { kept: PURGES_KEPT, oldest })
      }
      return done
    })
  }
}

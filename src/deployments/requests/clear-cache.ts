/**
 * Clearing the cache as an operation with one step. The app's own cache and the edge are purged first, and then the operation
 * is recorded as done: so it waits for no build of the environment, and needs no worker.
 */
import type { Environments } from '../../apps/index.ts'
import { fieldInvalid, LIMITS } from '../../contract/index.ts'
import type { Finish, Operation, OperationRecord, Operations } from '../../operations/index.ts'
import type { Sql, Transaction } from '../../storage/index.ts'
import type { Asked, Ledger } from '../../triggers/index.ts'
import type { Publishing } from '../publishing/publishing.ts'
import { abridge, isOfNothing, type Purged, type Purges } from '../purges.ts'
import { type EnvironmentRef, requireOpen } from './require-open.ts'

type Parts = {
  sql: Sql
  environments: Environments
  operations: Operations
  purges: Pick<Purges, 'everywhere'>
  ledger: Ledger
  publishing?: Pick<Publishing, 'purging'>
  finishWithEnvironment(operation: OperationRecord): Finish
}

/** As many as the ledger has entries: a client that knows a URL that purges may call it all day. */
const PURGES_KEPT =
  LIMITS.triggersKeptOfWebhooks + LIMITS.triggersKeptOfApi + LIMITS.triggersKeptOfApp + LIMITS.triggersKeptOfSchedules

/** Purges whose response shows the environment: it may name 500 variables, and there may be thousands of purges. */
const RESPONSES_KEPT = 20

/** Callers that asked before it began may share one purge. */
export type ClearCache = (
  at: EnvironmentRef,
  what: Purged,
  asked: readonly Asked[],
  /** Part of the transaction that records it. If it throws, nothing is recorded, and the purge is done all the same. */
  within?: (tx: Transaction, operation: Operation) => Promise<void>,
) => Promise<Operation>

export function createClearCache(parts: Parts): ClearCache {
  const { sql, environments, operations, purges, ledger, finishWithEnvironment } = parts

  return async (at, what, asked, within) => {
    const { paths = [], tags = [] } = what
    if (isOfNothing(what)) throw fieldInvalid('paths', 'names nothing; leave paths and tags out to clear everything')
    if (paths.length + tags.length > LIMITS.purgeEntries) {
      throw fieldInvalid('paths', `must not have more than ${LIMITS.purgeEntries} entries together with tags`)
    }
    const { environment, path } = await requireOpen(environments, sql, at)
    const publish = parts.publishing?.purging(environment, asked)
    try {
      await purges.everywhere(environment, what, publish)
    } catch (error) {
      await publish?.failed(error)
      throw error
    }
    return sql.transaction(async (tx) => {
      const finish = (operation: OperationRecord) => finishWithEnvironment(operation)(tx)
      const requestedBy = asked[0]?.requestedBy ?? null
      const done = await operations.record(tx, { path, trigger: 'PURGE_CACHE', requestedBy, finish })
      await within?.(tx, done)
      await publish?.done(tx, done.id)
      await operations.abridgePurge(tx, path, RESPONSES_KEPT)
      const outcome = { answer: 200, operationId: done.id, purged: abridge(what) }
      const { isPruned } = await ledger.add(tx, environment.id, asked, outcome)
      if (isPruned) {
        const oldest = await ledger.oldestPurge(tx, environment.id)
        await operations.forgetPurges(tx, path, { kept: PURGES_KEPT, oldest })
      }
      return done
    })
  }
}

/** Removes operations that are done: the history of an environment and of deleted environments is bounded. */
import { list, type Reader, type Sql, type Statement, statement, type Transaction } from '../storage/index.ts'
import type { OperationPath } from './types.ts'

/** Removed in one transaction, so that other writers do not wait for long. */
const AT_A_TIME = 500

const isCreationOrDeletion = statement`trigger_name IN ('CREATE', 'DELETE')`

/** Creations and deletions are remembered for good while the environment exists, and purges have a limit of their own. */
const isLimited = statement`trigger_name NOT IN ('CREATE', 'DELETE', 'PURGE_CACHE')`

const purgesOf = ({ accountId, environmentId }: OperationPath): Statement => statement`
  environment_id = ${environmentId} AND account_id = ${accountId} AND trigger_name = 'PURGE_CACHE'`

/** `after`: only candidates with a greater id. */
export type OldRows = { kept: number; after: string; limit: number }

export function createForgetOperations(sql: Sql) {
  async function removeWhere(environmentIds: readonly string[], condition: Statement): Promise<number> {
    let count = 0
    for (let from = 0; from < environmentIds.length; from += AT_A_TIME) {
      const some = environmentIds.slice(from, from + AT_A_TIME)
      const done = statement`environment_id IN (${list(some)}) AND done_time IS NOT NULL`
      for (let removed = AT_A_TIME; removed === AT_A_TIME; count += removed) {
        // A read comes first: most of the time there is nothing to remove, and the write lock is not needed.
        const spare = statement`SELECT id FROM operations WHERE ${done} AND ${condition} LIMIT ${AT_A_TIME}`
        removed = (await sql.query(spare)).length
        if (removed > 0)
          await sql.transaction((tx) => tx.query(statement`DELETE FROM operations WHERE id IN (${spare})`))
      }
    }
    return count
  }

  return {
    /** Only so many of the newest purges keep their response. Called after each purge, it clears that of the next older one. */
    async abridgePurge(tx: Transaction, path: OperationPath, kept: number) {
      await tx.query(statement`
        UPDATE operations SET response = '{}' WHERE id = (
          SELECT id FROM operations WHERE ${purgesOf(path)} ORDER BY id DESC LIMIT 1 OFFSET ${kept})`)
    },

    /** Keeps only the newest purges of an environment, and none from before `oldest`. Purges are quick, and may be many. */
    async forgetPurges(
      tx: Transaction,
      path: OperationPath,
      { kept, oldest = '' }: { kept: number; oldest?: string | undefined },
    ) {
      await tx.query(statement`
        DELETE FROM operations WHERE ${purgesOf(path)} AND (id < ${oldest} OR id <= (
          SELECT id FROM operations WHERE ${purgesOf(path)} ORDER BY id DESC LIMIT 1 OFFSET ${kept}))`)
    },

    /** Whether an environment has more operations than are kept, without purges, its creation and its deletion. */
    async hasMoreThan(environmentId: string, kept: number): Promise<boolean> {
      const rows = await sql.query(statement`
        SELECT id FROM operations WHERE environment_id = ${environmentId} AND ${isLimited}
        ORDER BY id DESC LIMIT 1 OFFSET ${kept}`)
      return rows.length > 0
    },

    /** Old operations that are done and that no other operation names, the oldest first. */
    async oldOf(reader: Reader, environmentId: string, { kept, after, limit }: OldRows): Promise<string[]> {
      const rows = await reader.query<{ id: string }>(statement`
        SELECT id FROM operations
        WHERE environment_id = ${environmentId} AND ${isLimited} AND done_time IS NOT NULL AND id > ${after}
        AND NOT EXISTS (SELECT 1 FROM operations AS waiting WHERE waiting.satisfied_by = operations.id)
        AND id <= (
          SELECT id FROM operations WHERE environment_id = ${environmentId} AND ${isLimited}
          ORDER BY id DESC LIMIT 1 OFFSET ${kept})
        ORDER BY id LIMIT ${limit}`)
      return rows.map(({ id }) => id)
    },

    async remove(tx: Transaction, ids: readonly string[]) {
      if (ids.length > 0) await tx.query(statement`DELETE FROM operations WHERE id IN (${list(ids)})`)
    },

    /** Environments of an account by their finished creations and deletions, the newest first; each is named once. */
    async environmentsOf(accountId: string, limit: number): Promise<string[]> {
      const rows = await sql.query<{ environment_id: string }>(statement`
        SELECT environment_id FROM operations
        WHERE account_id = ${accountId} AND ${isCreationOrDeletion} AND done_time IS NOT NULL
        ORDER BY id DESC LIMIT ${limit}`)
      return [...new Set(rows.map(({ environment_id }) => environment_id))]
    },

    /** Removes all finished operations of these environments. Resolves to their number. */
    removeAllOf: (environmentIds: readonly string[]): Promise<number> =>
      removeWhere(environmentIds, statement`id IS NOT NULL`),

    /** Removes their finished operations except for creations and deletions. Resolves to the number of removed ones. */
    removeWorkOf: (environmentIds: readonly string[]): Promise<number> =>
      removeWhere(environmentIds, statement`trigger_name NOT IN ('CREATE', 'DELETE')`),

    /** For environments that were deleted: the response of their creation shows an environment that is not there any more. */
    async abridgeCreations(environmentIds: readonly string[]) {
      for (let from = 0; from < environmentIds.length; from += AT_A_TIME) {
        const some = environmentIds.slice(from, from + AT_A_TIME)
        const long = statement`environment_id IN (${list(some)}) AND ${isCreationOrDeletion}
          AND octet_length(response) > 2`
        if ((await sql.query(statement`SELECT id FROM operations WHERE ${long} LIMIT 1`)).length === 0) continue
        await sql.transaction((tx) => tx.query(statement`UPDATE operations SET response = '{}' WHERE ${long}`))
      }
    },
  }
}

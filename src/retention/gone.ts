/**
 * The history of environments that are gone is bounded, or whoever makes and deletes them all day would fill the database. Of each
 * account the newest can still be asked for: that they were made, and how they were deleted. All else of them is forgotten.
 */
import type { Accounts } from '../accounts/index.ts'
import { list, type Sql, statement } from '../storage/index.ts'

/** Environments of one account that are gone and still known. */
const KEPT = 1000
/** In one look, and in one transaction, so that nobody has to wait for long. */
const LOOKED_AT = 10_000
const AT_A_TIME = 500

const isOfItsLife = statement`trigger_name IN ('CREATE', 'DELETE')`

type Parts = { sql: Sql; accounts: Pick<Accounts, 'list'>; kept?: number }

export function createForgetGone({ sql, accounts, kept = KEPT }: Parts) {
  /** The newest first. */
  async function goneOf(accountId: string): Promise<string[]> {
    const rows = await sql.query<{ environment_id: string }>(statement`
      SELECT environment_id FROM operations
      WHERE account_id = ${accountId} AND ${isOfItsLife} AND done_time IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM environments WHERE environments.id = operations.environment_id)
      ORDER BY id DESC LIMIT ${LOOKED_AT}`)
    return [...new Set(rows.map(({ environment_id }) => environment_id))]
  }

  async function forget(ids: readonly string[], isSpare: ReturnType<typeof statement>): Promise<number> {
    let count = 0
    for (let from = 0; from < ids.length; from += AT_A_TIME) {
      const some = statement`environment_id IN (${list(ids.slice(from, from + AT_A_TIME))}) AND done_time IS NOT NULL`
      for (let removed = AT_A_TIME; removed === AT_A_TIME; count += removed) {
        // Most of the time there is nothing to do, and nobody has to wait for it.
        const spare = statement`SELECT id FROM operations WHERE ${some} AND ${isSpare} LIMIT ${AT_A_TIME}`
        removed = (await sql.query(spare)).length
        if (removed > 0)
          await sql.transaction((tx) => tx.query(statement`DELETE FROM operations WHERE id IN (${spare})`))
      }
    }
    return count
  }

  /** What the answer to its making showed was an environment that is not there any more. */
  async function abridge(ids: readonly string[]) {
    for (let from = 0; from < ids.length; from += AT_A_TIME) {
      const long = statement`environment_id IN (${list(ids.slice(from, from + AT_A_TIME))}) AND ${isOfItsLife}
        AND octet_length(response) > 2`
      if ((await sql.query(statement`SELECT id FROM operations WHERE ${long} LIMIT 1`)).length === 0) continue
      await sql.transaction((tx) => tx.query(statement`UPDATE operations SET response = '{}' WHERE ${long}`))
    }
  }

  /** How many rows were forgotten. */
  return async function forgetGone(signal: AbortSignal): Promise<number> {
    let count = 0
    for (const { id } of await accounts.list()) {
      if (signal.aborted) break
      const gone = await goneOf(id)
      const newest = gone.slice(0, kept)
      count += await forget(newest, statement`trigger_name NOT IN ('CREATE', 'DELETE')`)
      count += await forget(gone.slice(kept), statement`id IS NOT NULL`)
      await abridge(newest)
    }
    return count
  }
}

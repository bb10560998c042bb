/**
 * The history of an environment is bounded: of its builds, its deployments that cannot be made live any more, and its
 * operations, the newest stay in the lists, and older ones are forgotten. What holds files is never forgotten, nor what
 * another row refers to, nor the last good build, with which a failure is compared. So rows go in this order: deployments,
 * then builds without any, then operations without either. That an environment was made is remembered for good.
 */
import { type Sql, type Statement, statement, type Transaction } from '../storage/index.ts'

/** In one transaction, so that nobody has to wait for long. */
const AT_A_TIME = 500

type Parts = { sql: Sql; keepHistory: number }

type Kind = { table: Statement; of: Statement; isSpare: Statement }

/** `of`: those that are counted. `isSpare`: those of them that may go. */
const KINDS: readonly Kind[] = [
  { table: statement`deployments`, of: statement`1 = 1`, isSpare: statement`discard_time IS NOT NULL` },
  {
    table: statement`builds`,
    of: statement`1 = 1`,
    isSpare: statement`finish_time IS NOT NULL AND output_digest IS NULL AND packages_id IS NULL
      AND NOT EXISTS (SELECT 1 FROM deployments WHERE deployments.build_id = builds.id)
      AND NOT EXISTS (SELECT 1 FROM operations WHERE operations.id = builds.operation_id AND operations.done_time IS NULL)
      AND id <> (SELECT COALESCE(MAX(id), '') FROM builds AS good
        WHERE good.environment_id = builds.environment_id AND good.state = 'SUCCEEDED' AND good.is_held = 0)`,
  },
  {
    // Purges have a bound of their own.
    table: statement`operations`,
    of: statement`trigger_name NOT IN ('CREATE', 'DELETE', 'PURGE_CACHE')`,
    isSpare: statement`done_time IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM builds WHERE builds.operation_id = operations.id)
      AND NOT EXISTS (SELECT 1 FROM deployments WHERE deployments.operation_id = operations.id)
      AND NOT EXISTS (SELECT 1 FROM operations AS waiting WHERE waiting.satisfied_by = operations.id)`,
  },
]

export function createForget({ sql, keepHistory }: Parts) {
  async function isTooLong({ table, of }: Kind, environmentId: string): Promise<boolean> {
    const rows = await sql.query(statement`
      SELECT id FROM ${table} WHERE environment_id = ${environmentId} AND ${of}
      ORDER BY id DESC LIMIT 1 OFFSET ${keepHistory}`)
    return rows.length > 0
  }

  async function remove(tx: Transaction, { table, of, isSpare }: Kind, environmentId: string): Promise<number> {
    const rows = await tx.query(statement`
      DELETE FROM ${table} WHERE id IN (
        SELECT id FROM ${table}
        WHERE environment_id = ${environmentId} AND ${of} AND ${isSpare} AND id <= (
          SELECT id FROM ${table} WHERE environment_id = ${environmentId} AND ${of}
          ORDER BY id DESC LIMIT 1 OFFSET ${keepHistory})
        ORDER BY id LIMIT ${AT_A_TIME})
      RETURNING id`)
    return rows.length
  }

  /** How many rows were forgotten. What is left of a long history goes with the next rounds. */
  return async function forget(environmentId: string): Promise<number> {
    let count = 0
    for (const kind of KINDS) {
      // Most of the time there is nothing to do, and nobody has to wait for it.
      if (!(await isTooLong(kind, environmentId))) continue
      count += await sql.transaction((tx) => remove(tx, kind, environmentId))
    }
    return count
  }
}

export type Forget = ReturnType<typeof createForget>

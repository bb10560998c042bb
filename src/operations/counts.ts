/** Numbers of operations, and yes-or-no questions about them. */
import { list, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'
import type { OperationPath, OperationRecord } from './types.ts'

/** A type and not an interface, as rows of a query are. */
export type OperationAtWork = {
  id: string
  /** The name of a process. */
  owner: string
  queue: string
  trigger: string
  phase: string
  account: string
  app: string
  environment: string
}

/** More than all machines of a cluster do at a time. */
const MAX_AT_WORK = 1000

export const createOperationCounts = (sql: Sql) => ({
  /** Those of the given environments that an unfinished operation is changing. */
  async reconciling(environmentIds: readonly string[], reader: Reader = sql): Promise<Set<string>> {
    if (environmentIds.length === 0) return new Set()
    const rows = await reader.query<{ environment_id: string }>(statement`
      SELECT DISTINCT environment_id FROM operations
      WHERE done_time IS NULL AND environment_id IN (${list(environmentIds)})`)
    return new Set(rows.map(({ environment_id }) => environment_id))
  },

  /** Whether, once this operation ends, another one still changes its environment. */
  async isAnotherUnfinished(reader: Reader, { id, environmentId }: OperationRecord): Promise<boolean> {
    const [row] = await reader.query(statement`
      SELECT id FROM operations WHERE environment_id = ${environmentId} AND done_time IS NULL AND id <> ${id} LIMIT 1`)
    return row !== undefined
  },

  async isToBeCancelled(tx: Transaction, id: string): Promise<boolean> {
    const [row] = await tx.query(statement`SELECT id FROM operations WHERE id = ${id} AND cancel_time IS NOT NULL`)
    return row !== undefined
  },

  /** Builds of an account that run now. */
  async countRunningBuilds(accountId: string): Promise<number> {
    const [row] = await sql.query<{ n: number }>(statement`
      SELECT COUNT(*) AS n FROM operations
      WHERE done_time IS NULL AND lease_owner IS NOT NULL AND queue = 'build' AND account_id = ${accountId}`)
    return row?.n ?? 0
  },

  /** What processes work on now, with the process of each. */
  async atWork(now: number): Promise<OperationAtWork[]> {
    return sql.query<OperationAtWork>(statement`
      SELECT id, lease_owner AS owner, queue, trigger_name AS trigger, phase, account_id AS account, app_name AS app,
        environment_id AS environment
      FROM operations
      WHERE done_time IS NULL AND lease_owner IS NOT NULL AND lease_until >= ${now}
      ORDER BY lease_owner, id LIMIT ${MAX_AT_WORK}`)
  },

  /** Unfinished changes of this environment: not its creation or deletion, and no builds. */
  async countChanges(reader: Reader, { accountId, environmentId }: OperationPath): Promise<number> {
    const [row] = await reader.query<{ n: number }>(statement`
      SELECT COUNT(*) AS n FROM operations
      WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND done_time IS NULL
      AND trigger_name IN ('UPDATE', 'ACTIVATE', 'PROMOTE')`)
    return row?.n ?? 0
  },

  /** Whether there is any operation at all, of whichever account. */
  async isAny(): Promise<boolean> {
    return (await sql.query(statement`SELECT id FROM operations LIMIT 1`)).length > 0
  },

  /** The unfinished operations of all accounts. */
  async count(): Promise<{ unfinished: number }> {
    const [row] = await sql.query<{ unfinished: number }>(
      statement`SELECT COUNT(*) AS unfinished FROM operations WHERE done_time IS NULL`,
    )
    return { unfinished: row?.unfinished ?? 0 }
  },
})

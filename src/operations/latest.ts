/**
 * The operation that shows how an environment is doing: the newest that runs, succeeded or failed. Purges, and operations
 * that were cancelled or superseded, show nothing about it.
 */
import type { resources } from '../contract/index.ts'
import { rows as rowsOf, type Sql, statement } from '../storage/index.ts'
import type { OperationRow } from './rows.ts'

export type LatestOperation = Pick<resources.LatestOperation, 'trigger' | 'phase' | 'done'> & {
  id: string
  build: string
  reason: string | undefined
  createTime: number
}

type LatestRow = Pick<
  OperationRow,
  'id' | 'environment_id' | 'trigger_name' | 'phase' | 'build' | 'error' | 'create_time' | 'done_time'
>

/** Of each environment no more operations than these are read, however many were cancelled in a row. */
const MAX_READ = 20

export const createLatest = (sql: Sql) => ({
  /** By environment, for all environments of a page in one statement. */
  async latestOf(environmentIds: readonly string[]): Promise<Map<string, LatestOperation>> {
    if (environmentIds.length === 0) return new Map()
    const rows = await sql.query<LatestRow>(statement`
      WITH asked (id) AS (VALUES ${rowsOf(environmentIds.map((id) => [id]))})
      SELECT id, environment_id, trigger_name, phase, build, error, create_time, done_time FROM operations
      WHERE id IN (
        SELECT (
          SELECT newest.id FROM (
            SELECT o.id, o.error FROM operations o
            WHERE o.environment_id = asked.id AND o.trigger_name <> 'PURGE_CACHE' ORDER BY o.id DESC LIMIT ${MAX_READ}
          ) AS newest
          WHERE newest.error IS NULL OR (newest.error NOT LIKE '%"reason":"OPERATION_CANCELLED"%'
            AND newest.error NOT LIKE '%"reason":"SUPERSEDED"%')
          ORDER BY newest.id DESC LIMIT 1)
        FROM asked)`)
    return new Map(rows.map((row) => [row.environment_id, toLatest(row)]))
  },
})

const toLatest = (row: LatestRow): LatestOperation => ({
  id: row.id,
  trigger: row.trigger_name,
  phase: row.phase,
  done: row.done_time !== null,
  build: row.build,
  reason: row.error === null ? undefined : reasonOf(JSON.parse(row.error)),
  createTime: row.create_time,
})

/** The first detail of an error is its ErrorInfo. */
const reasonOf = ({ details }: { details: { reason?: unknown }[] }): string => String(details[0]?.reason ?? '')

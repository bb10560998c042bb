/**
 * The operation that tells how an environment is: the newest that is under way, or that ended well or badly. A purge makes
 * nothing better or worse, and what was cancelled or superseded says nothing.
 */
import type { resources } from '../contract/index.ts'
import { list, type Sql, statement } from '../storage/index.ts'
import type { OperationRow } from './operations.ts'

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

/** However many were cancelled in a row, no more than so many operations of an environment are looked at. */
const LOOKED_AT = 20

export const createLatest = (sql: Sql) => ({
  /** By environment, for as many as a page has: one statement. */
  async latestOf(environmentIds: readonly string[]): Promise<Map<string, LatestOperation>> {
    if (environmentIds.length === 0) return new Map()
    const rows = await sql.query<LatestRow>(statement`
      SELECT id, environment_id, trigger_name, phase, build, error, create_time, done_time FROM operations
      WHERE id IN (
        SELECT (
          SELECT newest.id FROM (
            SELECT o.id, o.error FROM operations o
            WHERE o.environment_id = e.id AND o.trigger_name <> 'PURGE_CACHE' ORDER BY o.id DESC LIMIT ${LOOKED_AT}
          ) AS newest
          WHERE newest.error IS NULL OR (newest.error NOT LIKE '%"reason":"OPERATION_CANCELLED"%'
            AND newest.error NOT LIKE '%"reason":"SUPERSEDED"%')
          ORDER BY newest.id DESC LIMIT 1)
        FROM environments e WHERE e.id IN (${list(environmentIds)}))`)
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

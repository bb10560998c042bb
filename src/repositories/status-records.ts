/** Builds of commits whose states are to be sent to the provider: rows from the request of the build until its end was sent. */
import type { NewId } from '../base/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'

export type StatusState = 'PENDING' | 'SUCCESS' | 'FAILURE'

export type StatusRecord = {
  id: string
  /** Whose repository it is. */
  environmentId: string
  /** What is built: the same environment, or a preview. */
  target: string
  operation: string
  url: string
  sha: string
  sentState: StatusState | null
  attempts: number
  createTime: number
}

type Row = {
  id: string
  environment_id: string
  target_id: string
  operation_id: string
  url: string
  sha: string
  sent_state: StatusState | null
  attempts: number
  create_time: number
}

/** Of one repository; the oldest go first. */
const MAX_KEPT = 200

type Parts = { sql: Sql; newId: NewId; now(): number }

export function createStatusRecords({ sql, newId, now }: Parts) {
  return {
    async add(
      tx: Transaction,
      status: { environmentId: string; target: string; operation: string; url: string; sha: string },
    ): Promise<void> {
      const { environmentId, target, operation, url, sha } = status
      await tx.query(statement`
        INSERT INTO commit_statuses (id, environment_id, target_id, operation_id, url, sha, attempts, next_time, create_time)
        VALUES (${newId()}, ${environmentId}, ${target}, ${operation}, ${url}, ${sha}, 0, ${now()}, ${now()})`)
      await tx.query(statement`
        DELETE FROM commit_statuses WHERE environment_id = ${environmentId} AND id <= (
          SELECT id FROM commit_statuses WHERE environment_id = ${environmentId} ORDER BY id DESC LIMIT 1 OFFSET ${MAX_KEPT})`)
    },

    async due(max: number): Promise<StatusRecord[]> {
      const rows = await sql.query<Row>(statement`
        SELECT id, environment_id, target_id, operation_id, url, sha, sent_state, attempts, create_time FROM commit_statuses
        WHERE next_time <= ${now()} ORDER BY next_time, id LIMIT ${max}`)
      return rows.map(toRecord)
    },

    /** `sent`: the state that the provider has now. */
    async putOff(
      tx: Transaction,
      { id }: StatusRecord,
      { time, attempts, sent }: { time: number; attempts: number; sent: StatusState | null },
    ): Promise<void> {
      await tx.query(statement`
        UPDATE commit_statuses SET next_time = ${time}, attempts = ${attempts}, sent_state = ${sent} WHERE id = ${id}`)
    },

    async remove(tx: Transaction, { id }: StatusRecord): Promise<void> {
      await tx.query(statement`DELETE FROM commit_statuses WHERE id = ${id}`)
    },
  }
}

export type StatusRecords = ReturnType<typeof createStatusRecords>

const toRecord = (row: Row): StatusRecord => ({
  id: row.id,
  environmentId: row.environment_id,
  target: row.target_id,
  operation: row.operation_id,
  url: row.url,
  sha: row.sha,
  sentState: row.sent_state,
  attempts: row.attempts,
  createTime: row.create_time,
})

/** The rows of schedules, with the next time of each, by which the due ones are found. */
import { notifyBelow } from '../apps/index.ts'
import type { NewId } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { type Page, type PageOf, pageOf, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'

/** What users set. */
export type Plan = { action: resources.TriggerAction; cron: string; timeZone: string; isPaused: boolean }

export type ScheduleRecord = Plan & {
  id: string
  environmentId: string
  /** Null while it is paused. */
  nextTime: number | null
  lastTime: number | null
  /** Null if the last run was refused. */
  lastOperation: string | null
  createTime: number
  updateTime: number
}

type Row = {
  id: string
  environment_id: string
  action: resources.TriggerAction
  cron: string
  time_zone: string
  is_paused: number
  next_time: number | null
  last_time: number | null
  last_operation: string | null
  create_time: number
  update_time: number
}

const columns = statement`id, environment_id, action, cron, time_zone, is_paused, next_time, last_time, last_operation,
  create_time, update_time`

/** Due schedules that are read at a time. */
const BATCH = 100

export function createScheduleRecords({ sql, newId }: { sql: Sql; newId: NewId }) {
  async function require(reader: Reader, environmentId: string, id: string): Promise<ScheduleRecord> {
    const [row] = await reader.query<Row>(
      statement`SELECT ${columns} FROM schedules WHERE id = ${id} AND environment_id = ${environmentId}`,
    )
    if (!row) throw new Problem('SCHEDULE_NOT_FOUND')
    return toRecord(row)
  }

  return {
    require,

    async list(environmentId: string, page: Page): Promise<PageOf<ScheduleRecord>> {
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM schedules WHERE environment_id = ${environmentId} AND ${page.after} ${page.order}`)
      return pageOf(rows.map(toRecord), page)
    },

    async count(reader: Reader, environmentId: string): Promise<number> {
      const [row] = await reader.query<{ count: number }>(
        statement`SELECT COUNT(*) AS count FROM schedules WHERE environment_id = ${environmentId}`,
      )
      return row?.count ?? 0
    },

    async insert(
      tx: Transaction,
      environmentId: string,
      plan: Plan,
      { nextTime, now }: { nextTime: number | null; now: number },
    ): Promise<ScheduleRecord> {
      const id = newId()
      const { action, cron, timeZone, isPaused } = plan
      await tx.query(statement`
        INSERT INTO schedules (id, environment_id, action, cron, time_zone, is_paused, next_time, create_time, update_time)
        VALUES (${id}, ${environmentId}, ${action}, ${cron}, ${timeZone}, ${Number(isPaused)}, ${nextTime}, ${now}, ${now})`)
      await notifyBelow(tx, environmentId, `schedules/${id}`)
      return require(tx, environmentId, id)
    },

    async update(
      tx: Transaction,
      { id, environmentId }: ScheduleRecord,
      plan: Plan,
      { nextTime, now }: { nextTime: number | null; now: number },
    ): Promise<ScheduleRecord> {
      const { action, cron, timeZone, isPaused } = plan
      await tx.query(statement`
        UPDATE schedules SET action = ${action}, cron = ${cron}, time_zone = ${timeZone}, is_paused = ${Number(isPaused)},
          next_time = ${nextTime}, update_time = ${now}
        WHERE id = ${id}`)
      await notifyBelow(tx, environmentId, `schedules/${id}`)
      return require(tx, environmentId, id)
    },

    async remove(tx: Transaction, { id, environmentId }: ScheduleRecord) {
      await tx.query(statement`DELETE FROM schedules WHERE id = ${id}`)
      await notifyBelow(tx, environmentId, `schedules/${id}`)
    },

    async due(now: number): Promise<ScheduleRecord[]> {
      const rows = await sql.query<Row>(
        statement`SELECT ${columns} FROM schedules WHERE next_time <= ${now} ORDER BY next_time, id LIMIT ${BATCH}`,
      )
      return rows.map(toRecord)
    },

    async nextTime(): Promise<number | undefined> {
      const [row] = await sql.query<{ next: number | null }>(
        statement`SELECT MIN(next_time) AS next FROM schedules WHERE next_time IS NOT NULL`,
      )
      return row?.next ?? undefined
    },

    /** False if it was changed, deleted or run since it was read. */
    async ran(
      tx: Transaction,
      { id, environmentId, nextTime: due }: ScheduleRecord,
      run: { time: number; nextTime: number | null; operation: string | null },
    ): Promise<boolean> {
      const rows = await tx.query(statement`
        UPDATE schedules SET next_time = ${run.nextTime}, last_time = ${run.time}, last_operation = ${run.operation}
        WHERE id = ${id} AND next_time = ${due} RETURNING id`)
      if (rows.length === 0) return false
      await notifyBelow(tx, environmentId, 'schedules')
      return true
    },
  }
}

export type ScheduleRecords = ReturnType<typeof createScheduleRecords>

const toRecord = (row: Row): ScheduleRecord => ({
  id: row.id,
  environmentId: row.environment_id,
  action: row.action,
  cron: row.cron,
  timeZone: row.time_zone,
  isPaused: Boolean(row.is_paused),
  nextTime: row.next_time,
  lastTime: row.last_time,
  lastOperation: row.last_operation,
  createTime: row.create_time,
  updateTime: row.update_time,
})

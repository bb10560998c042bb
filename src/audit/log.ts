/** The audit log of an account, as its owners read it. */
import type { resources } from '../contract/index.ts'
import { type Page, type PageOf, pageOf, type Reader, type Statement, statement } from '../storage/index.ts'
import { type AuditEvent, columns, type EventRow, toEvent } from './events.ts'

/** Events that match all that is given. */
export type AuditFilter = {
  action?: resources.AuditAction
  /** A part of the name of who did it, in any letters. */
  by?: string
  /** Below the account: this, and everything below it. */
  resource?: string
  /** Not before. */
  start?: number
  /** Before. */
  end?: number
}

export const createAuditLog = ({ sql }: { sql: Reader }) => ({
  async list(accountId: string, filter: AuditFilter, page: Page): Promise<PageOf<AuditEvent>> {
    const found = await sql.query<EventRow>(statement`
      SELECT ${columns} FROM audit_events
      WHERE account_id = ${accountId} AND ${conditionOf(filter)} AND ${page.after} ${page.order}`)
    return pageOf(found.map(toEvent), page)
  },
})

export type AuditLog = ReturnType<typeof createAuditLog>

function conditionOf({ action, by, resource, start, end }: AuditFilter): Statement {
  const conditions = [
    ...(action === undefined ? [] : [statement`action = ${action}`]),
    ...(by === undefined ? [] : [contains(by)]),
    ...(resource === undefined ? [] : [isAtOrBelow(resource)]),
    ...(start === undefined ? [] : [statement`create_time >= ${start}`]),
    ...(end === undefined ? [] : [statement`create_time < ${end}`]),
  ]
  return conditions.reduce((before, after) => statement`${before} AND ${after}`, statement`1 = 1`)
}

const isAtOrBelow = (resource: string): Statement =>
  statement`(resource = ${resource} OR substr(resource, 1, ${resource.length + 1}) = ${`${resource}/`})`

const contains = (part: string): Statement =>
  statement`lower(by_name) LIKE ${`%${part.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`} ESCAPE '\\'`

export async function newestAuditEventId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM audit_events`)
  return row?.id ?? undefined
}

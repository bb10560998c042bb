/** Events of the audit log as rows. */
import { LIMITS, type resources } from '../contract/index.ts'
import { rows, statement, type Transaction } from '../storage/index.ts'

export type AuditEvent = {
  id: string
  accountId: string
  action: resources.AuditAction
  /** The name of what was changed, below its account; empty for the account itself. */
  resource: string
  /** What people called it then. */
  title: string
  /** Names of what was set or removed. */
  fields: readonly string[]
  by: resources.AuditActor
  way: resources.AuditWay
  /** Empty if it did not come over a network. */
  address: string
  time: number
}

export type EventRow = {
  id: string
  account_id: string
  action: resources.AuditAction
  resource: string
  title: string
  fields: string
  by_kind: resources.AuditActor['kind']
  by_name: string
  way: resources.AuditWay
  address: string
  create_time: number
}

export const columns = statement`id, account_id, action, resource, title, fields, by_kind, by_name, way, address, create_time`

/** One statement, for all of them. An event that another transaction of the same request has written is not written again. */
export async function insertEvents(tx: Transaction, events: readonly AuditEvent[]): Promise<void> {
  await tx.query(statement`INSERT INTO audit_events (${columns}) VALUES ${rows(events.map(toValues))}
    ON CONFLICT (id) DO NOTHING`)
}

const toValues = ({ id, accountId, action, resource, title, fields, by, way, address, time }: AuditEvent) => [
  id,
  accountId,
  action,
  shortened(resource, LIMITS.auditResourceLength),
  shortened(title, LIMITS.auditTitleLength),
  JSON.stringify(shownFields(fields)),
  by.kind,
  shortened(by.name, LIMITS.requesterLength),
  way,
  address,
  time,
]

function shownFields(fields: readonly string[]): string[] {
  const shown = fields.slice(0, LIMITS.auditFields).map((field) => shortened(field, LIMITS.auditFieldLength))
  return fields.length > LIMITS.auditFields ? [...shown, '…'] : shown
}

const shortened = (text: string, length: number): string => text.slice(0, length).toWellFormed()

export const toEvent = (row: EventRow): AuditEvent => ({
  id: row.id,
  accountId: row.account_id,
  action: row.action,
  resource: row.resource,
  title: row.title,
  fields: JSON.parse(row.fields) as string[],
  by: { kind: row.by_kind, name: row.by_name },
  way: row.way,
  address: row.address,
  time: row.create_time,
})

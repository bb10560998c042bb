export { type Audited, auditing, withAudit } from './auditing.ts'
export type { AuditEvent } from './events.ts'
export { type AuditFilter, type AuditLog, createAuditLog, newestAuditEventId } from './log.ts'
export { createAuditPruning } from './pruning.ts'

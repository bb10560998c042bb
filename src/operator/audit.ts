/** Commands of the operator in the audit log: by the user of the machine who ran them. */
import { userInfo } from 'node:os'
import { auditing } from '../audit/index.ts'
import type { resources } from '../contract/index.ts'

export const auditingOperator = <T>(action: resources.AuditAction, work: () => Promise<T>): Promise<T> =>
  auditing({ action, by: { kind: 'OPERATOR', name: userName() }, way: 'OPERATOR' }, work)

/** In a container, the user may have a number only. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

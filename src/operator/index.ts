import type { resources } from '../contract/index.ts'
import type { Finding } from './command.ts'
import type { Examined } from './doctor.ts'

export type { Command, CommandCall, DataFolder, Finding, OperatorServices } from './command.ts'
export { COMMANDS } from './commands/index.ts'

/** Loaded on demand: the doctor imports the engines. */
export const examine = async (examined: Examined): Promise<Finding[]> => (await import('./doctor.ts')).examine(examined)

/** Loaded on demand: most commands change nothing of an account. */
export const auditingOperator = async <T>(action: resources.AuditAction, work: () => Promise<T>): Promise<T> =>
  (await import('./audit.ts')).auditingOperator(action, work)

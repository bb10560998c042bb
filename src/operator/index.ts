import type { Finding } from './command.ts'
import type { Examined } from './doctor.ts'

export type { Command, CommandCall, DataFolder, Finding, OperatorServices } from './command.ts'
export { COMMANDS } from './commands/index.ts'

/** Loaded on demand: the doctor imports the engines. */
export const examine = async (examined: Examined): Promise<Finding[]> => (await import('./doctor.ts')).examine(examined)

import type { Examined, Finding } from './doctor.ts'

export type { Command, CommandCall, DataFolder, OperatorServices } from './command.ts'
export { COMMANDS } from './commands/index.ts'
export type { Finding } from './doctor.ts'

/** Loaded on demand: the doctor imports the engines. */
export const examine = async (examined: Examined): Promise<Finding[]> => (await import('./doctor.ts')).examine(examined)

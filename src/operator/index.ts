import type { Examined, Finding } from './doctor.ts'

export type { Command, CommandCall, DataFolder, Ground } from './command.ts'
export { COMMANDS } from './commands/index.ts'
export type { Finding } from './doctor.ts'

/** Loaded when somebody asks: it takes the engines with it. */
export const examine = async (examined: Examined): Promise<Finding[]> => (await import('./doctor.ts')).examine(examined)

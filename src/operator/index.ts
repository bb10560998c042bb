export type { Command, CommandCall, Ground } from './command.ts'
export { COMMANDS } from './commands/index.ts'
export { examine, type Finding } from './doctor.ts'

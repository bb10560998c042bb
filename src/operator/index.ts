export { type Command, type CommandCall, type Ground, JSON_OPTION, table, UsageError } from './command.ts'
export { COMMANDS } from './commands/index.ts'
export { examine, type Finding } from './doctor.ts'

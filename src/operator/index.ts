export { BackupRefused } from '../backups/index.ts'
export type { Command, CommandCall, DataFolder, Ground } from './command.ts'
export { COMMANDS } from './commands/index.ts'
export { examine, type Finding } from './doctor.ts'

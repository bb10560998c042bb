export type { ClientCall, ClientCommand, ClientEnvironment } from './command.ts'
export { CLIENT_COMMANDS } from './commands/index.ts'
export { CallFailed } from './service.ts'
export { createTerminal, Interrupted } from './terminal.ts'

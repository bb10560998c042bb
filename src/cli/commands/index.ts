import type { ClientCommand } from '../command.ts'

/** Every command of the client. Each is loaded when it is typed, so none costs the others anything. */
export const CLIENT_COMMANDS: readonly ClientCommand[] = []

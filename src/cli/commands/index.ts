import type { ClientCommand } from '../command.ts'
import { DAILY_COMMANDS } from './daily.ts'
import { RESOURCE_COMMANDS } from './resources.ts'

/** Every command of the client. Each is loaded when it is typed, so none costs the others anything. */
export const CLIENT_COMMANDS: readonly ClientCommand[] = [...DAILY_COMMANDS, ...RESOURCE_COMMANDS]

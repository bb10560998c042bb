import type { ClientCommand } from '../command.ts'
import { DAILY_COMMANDS } from './daily.ts'
import { RESOURCE_COMMANDS } from './resources.ts'
import { SCHEDULE_COMMANDS } from './schedules/definitions.ts'

/** Every command of the client. The code of each is loaded when it is run, so none slows the others down. */
export const CLIENT_COMMANDS: readonly ClientCommand[] = [...DAILY_COMMANDS, ...RESOURCE_COMMANDS, ...SCHEDULE_COMMANDS]

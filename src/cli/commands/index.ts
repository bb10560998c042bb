import type { ClientCommand } from '../command.ts'
import { MCP_COMMANDS } from '../mcp/definitions.ts'
import { AUDIT_COMMANDS } from './audit/definitions.ts'
import { CONTENT_COMMANDS } from './content/definitions.ts'
import { DAILY_COMMANDS } from './daily.ts'
import { NOTIFICATION_COMMANDS } from './notifications/definitions.ts'
import { OVERVIEW_COMMANDS } from './overview/definitions.ts'
import { PREVIEW_COMMANDS } from './previews/definitions.ts'
import { PUBLISH_COMMANDS } from './publishes/definitions.ts'
import { REPOSITORY_COMMANDS } from './repository/definitions.ts'
import { RESOURCE_COMMANDS } from './resources.ts'
import { SCHEDULE_COMMANDS } from './schedules/definitions.ts'

/** Every command of the client. The code of each is loaded when it is run, so none slows the others down. */
export const CLIENT_COMMANDS: readonly ClientCommand[] = [
  ...DAILY_COMMANDS,
  ...OVERVIEW_COMMANDS,
  ...RESOURCE_COMMANDS,
  ...SCHEDULE_COMMANDS,
  ...PUBLISH_COMMANDS,
  ...AUDIT_COMMANDS,
  ...PREVIEW_COMMANDS,
  ...NOTIFICATION_COMMANDS,
  ...REPOSITORY_COMMANDS,
  ...CONTENT_COMMANDS,
  ...MCP_COMMANDS,
]

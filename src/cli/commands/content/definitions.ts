/** The definitions of commands about content. Their code is loaded when they are run. */
import { type ClientCommand, ENVIRONMENT_OPTIONS } from '../../command.ts'

export const CONTENT_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'content diff',
    positionals: ['BUILD', 'BUILD'],
    summary: 'Show what changed in the content of the CMS from one build to another',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./content.ts')).diffContent(call),
  },
]

/** The definition of the command about the audit log. Its code is loaded when it is run. */
import { ACCOUNT_OPTIONS, type ClientCommand } from '../../command.ts'
import { LIMIT_OPTION } from '../../options.ts'

export const AUDIT_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'audit',
    positionals: [],
    summary: 'List who changed what in an account, and when; for owners',
    options: {
      action: { type: 'string', value: 'ACTION', describe: 'Only of this action, such as DELETE_APP.' },
      by: {
        type: 'string',
        value: 'NAME',
        describe: 'Only by users (e-mail address), credentials and operators whose name contains this.',
      },
      app: { type: 'string', describe: 'Only of this app and what is in it.' },
      since: { type: 'string', value: 'TIME', describe: 'Not before: 2026-01-31, or 2026-01-31T12:00:00Z.' },
      until: { type: 'string', value: 'TIME', describe: 'Before.' },
      ...LIMIT_OPTION,
      ...ACCOUNT_OPTIONS,
    },
    run: async (call) => (await import('./audit.ts')).listEvents(call),
  },
]

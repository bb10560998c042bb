/** The definitions of commands about all environments of an account. */
import { ACCOUNT_OPTIONS, type ClientCommand } from '../../command.ts'

export const OVERVIEW_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'status',
    positionals: [],
    summary: 'Show all environments of an account at a glance, those with a problem first',
    options: {
      watch: { type: 'boolean', short: 'w', describe: 'Go on, and draw it anew every two seconds; q ends.' },
      ...ACCOUNT_OPTIONS,
    },
    run: async (call) => (await import('./status.ts')).status(call),
  },
  {
    name: 'top',
    positionals: [],
    summary: 'Follow the visits, hits, errors and memory of all environments of an account',
    options: {
      sort: {
        type: 'string',
        oneOf: ['visits', 'hits', 'errors', 'memory', 'slowest', 'name'],
        value: 'COLUMN',
        describe: 'What is first; visits unless given. A key with its first letter changes it.',
      },
      once: { type: 'boolean', describe: 'Print it once, as without a terminal and with --json.' },
      ...ACCOUNT_OPTIONS,
    },
    run: async (call) => (await import('./top.ts')).top(call),
  },
]

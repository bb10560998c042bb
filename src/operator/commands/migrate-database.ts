/** The command `migrate-database`. Its code is loaded when it is run. */
import { JSON_OPTION } from '../../contract/index.ts'
import type { Command } from '../command.ts'

export const migrateDatabase: Command = {
  name: 'migrate-database',
  positionals: [],
  summary: 'Move the rows of a data folder from SQLite to PostgreSQL, or back, while no service runs',
  options: {
    to: {
      type: 'string',
      value: 'DATABASE',
      describe: '`postgres` for that of the setting databaseUrl, an address, or `sqlite`.',
    },
    ...JSON_OPTION,
  },
  run: async (call) => (await import('../migrate-database.ts')).migrateDatabase(call),
}

/** Columns have the names that the code and the API use for them. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const columnNames: Migration = {
  id: 23,
  name: 'column names',
  statements: [
    sql`ALTER TABLE operations RENAME COLUMN lane TO queue`,
    sql`ALTER TABLE webhook_sets RENAME COLUMN quiet_seconds_most TO max_quiet_seconds`,
  ],
}

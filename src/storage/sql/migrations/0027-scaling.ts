/** How many instances of an app run. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const scaling: Migration = {
  id: 27,
  name: 'scaling',
  isForBoth: true,
  statements: [
    // As JSON; null for the defaults.
    sql`ALTER TABLE environments ADD COLUMN scaling TEXT`,
  ],
}

/** Who may see an environment, and whether search engines may list it. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const protection: Migration = {
  id: 30,
  name: 'protection',
  isForBoth: true,
  statements: [
    sql`ALTER TABLE environments ADD COLUMN is_production BIGINT NOT NULL DEFAULT 0`,
    // Search engines list the sites that are there: an upgrade must not take them from their results.
    sql`UPDATE environments SET is_production = 1`,
    // As JSON; null for none.
    sql`ALTER TABLE environments ADD COLUMN protection TEXT`,
  ],
}

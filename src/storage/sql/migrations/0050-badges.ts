/** Whether anyone may see the state of an environment as a badge. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const badges: Migration = {
  id: 50,
  name: 'badges',
  isForBoth: true,
  statements: [sql`ALTER TABLE environments ADD COLUMN has_badge BIGINT NOT NULL DEFAULT 0`],
}

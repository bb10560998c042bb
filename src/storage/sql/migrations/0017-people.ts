/** Operations and triggers name who asked; builds have what was said about their archive. Null in what is older. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const people: Migration = {
  id: 17,
  name: 'people',
  statements: [
    sql`ALTER TABLE operations ADD COLUMN requested_by TEXT`,
    sql`ALTER TABLE triggers ADD COLUMN requested_by TEXT`,
    sql`ALTER TABLE builds ADD COLUMN message TEXT NOT NULL DEFAULT ''`,
    sql`ALTER TABLE builds ADD COLUMN git_commit TEXT`,
  ],
}

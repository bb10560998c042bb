/**
 * Operations and triggers record the requester; builds record the message and commit of their archive. Null in older
 * rows.
 */
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

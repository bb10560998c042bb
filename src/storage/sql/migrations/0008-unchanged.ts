/**
 * The output of a build may be what visitors get already. Then nothing is switched, and the build and its operation are
 * marked.
 */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const unchanged: Migration = {
  id: 8,
  name: 'builds that changed nothing',
  statements: [
    sql`ALTER TABLE builds ADD COLUMN is_unchanged BIGINT NOT NULL DEFAULT 0`,
    sql`ALTER TABLE operations ADD COLUMN is_unchanged BIGINT NOT NULL DEFAULT 0`,
  ],
}

/** Files are counted beside bytes, since a disk has a limited number of inodes. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const files: Migration = {
  id: 14,
  name: 'files',
  statements: [
    sql`ALTER TABLE builds ADD COLUMN output_files BIGINT`,
    sql`ALTER TABLE usage_figures ADD COLUMN files BIGINT NOT NULL DEFAULT 0`,
  ],
}

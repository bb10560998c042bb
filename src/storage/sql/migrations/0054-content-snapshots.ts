/** What a CMS answered to builds, and which builds were made from it. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const contentSnapshots: Migration = {
  id: 54,
  name: 'content snapshots',
  isForBoth: true,
  statements: [
    sql`ALTER TABLE environments ADD COLUMN content_snapshots TEXT`,
    sql`ALTER TABLE builds ADD COLUMN from_snapshot TEXT`,
    sql`CREATE TABLE content_snapshots (
      build_id TEXT PRIMARY KEY REFERENCES builds (id) ON DELETE CASCADE,
      account_id TEXT NOT NULL,
      environment_id TEXT NOT NULL,
      digest TEXT NOT NULL,
      answers BIGINT NOT NULL,
      bytes BIGINT NOT NULL,
      is_good BIGINT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX content_snapshots_of_environment ON content_snapshots (environment_id, build_id)`,
    sql`CREATE INDEX content_snapshots_of_account ON content_snapshots (account_id)`,
  ],
}

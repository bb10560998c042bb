/** Installed packages are stored separately from outputs, and a build records which ones it used. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const packages: Migration = {
  id: 3,
  name: 'installed packages',
  statements: [
    // `wanted` is what they were installed from. Several may have the same: a clean rebuild installs anew.
    sql`CREATE TABLE packages (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      wanted TEXT NOT NULL,
      files BIGINT NOT NULL,
      bytes BIGINT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX packages_wanted ON packages (wanted, id)`,
    sql`ALTER TABLE builds ADD COLUMN packages_id TEXT REFERENCES packages (id)`,
    sql`CREATE INDEX builds_of_packages ON builds (packages_id)`,
    sql`ALTER TABLE builds ADD COLUMN tools TEXT`,
    sql`ALTER TABLE builds ADD COLUMN caches TEXT`,
  ],
}

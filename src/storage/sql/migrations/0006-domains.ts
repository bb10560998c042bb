/** Custom host names of environments. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const domains: Migration = {
  id: 6,
  name: 'custom domains',
  statements: [
    // The name alone is the key: on the whole instance it has one owner.
    sql`CREATE TABLE domains (
      name TEXT PRIMARY KEY,
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE
    )`,
    sql`CREATE INDEX domains_of_environment ON domains (environment_id, name)`,
  ],
}

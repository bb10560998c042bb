/** Purges of the edge's cache, and who requested them. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const purges: Migration = {
  id: 7,
  name: 'purges',
  statements: [
    sql`CREATE TABLE purges (
      id TEXT PRIMARY KEY,
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      source TEXT NOT NULL,
      what TEXT NOT NULL,
      purge_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX purges_of_environment ON purges (environment_id, id)`,
  ],
}

/** Revalidations of an environment: entries of a framework's cache that have the tag and are older are invalid. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const revalidations: Migration = {
  id: 20,
  name: 'revalidations',
  statements: [
    sql`CREATE TABLE revalidations (
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      tag TEXT NOT NULL,
      revalidate_time BIGINT NOT NULL,
      PRIMARY KEY (environment_id, tag)
    )`,
  ],
}

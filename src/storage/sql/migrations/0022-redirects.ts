/**
 * A custom host name may redirect to another one of its environment; and the most requested paths of a site are
 * counted.
 */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const redirects: Migration = {
  id: 22,
  name: 'redirects',
  statements: [
    sql`ALTER TABLE domains ADD COLUMN redirect_to TEXT`,
    sql`CREATE TABLE traffic_paths (
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      step_seconds BIGINT NOT NULL,
      start_time BIGINT NOT NULL,
      counts TEXT NOT NULL,
      PRIMARY KEY (environment_id, step_seconds, start_time)
    )`,
    sql`CREATE INDEX traffic_paths_by_age ON traffic_paths (step_seconds, start_time)`,
  ],
}

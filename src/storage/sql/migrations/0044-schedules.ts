/** Schedules: rebuilds and purges that the service requests by itself. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const schedules: Migration = {
  id: 44,
  name: 'schedules',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE schedules (
      id TEXT PRIMARY KEY,
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      action TEXT NOT NULL,
      cron TEXT NOT NULL,
      time_zone TEXT NOT NULL,
      is_paused BIGINT NOT NULL,
      next_time BIGINT,
      last_time BIGINT,
      last_operation TEXT,
      create_time BIGINT NOT NULL,
      update_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX schedules_of_environment ON schedules (environment_id, id)`,
    sql`CREATE INDEX schedules_due ON schedules (next_time) WHERE next_time IS NOT NULL`,
  ],
}

/** How long publishes take: from the call to what visitors get. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const publishes: Migration = {
  id: 53,
  name: 'publishes',
  isForBoth: true,
  statements: [
    sql`ALTER TABLE environments ADD COLUMN publish_promise_seconds BIGINT`,
    sql`CREATE TABLE publishes (
      id TEXT PRIMARY KEY,
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      trigger_name TEXT NOT NULL,
      operation_id TEXT,
      build_id TEXT,
      deployment_id TEXT,
      state TEXT NOT NULL,
      reason TEXT,
      calls BIGINT NOT NULL,
      call_time BIGINT NOT NULL,
      begin_time BIGINT,
      built_time BIGINT,
      end_time BIGINT,
      visit_time BIGINT,
      promise_seconds BIGINT
    )`,
    sql`CREATE INDEX publishes_of_environment ON publishes (environment_id, id)`,
    sql`CREATE UNIQUE INDEX publishes_of_operation ON publishes (operation_id) WHERE operation_id IS NOT NULL`,
  ],
}

/** Webhook URLs, and the ledger of all requests for builds and purges. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const webhooks: Migration = {
  id: 9,
  name: 'webhooks',
  statements: [
    // Tokens are stored as digests. `generation` changes with every regeneration.
    sql`CREATE TABLE webhook_sets (
      environment_id TEXT PRIMARY KEY REFERENCES environments (id) ON DELETE CASCADE,
      generation TEXT NOT NULL,
      rebuild_digest TEXT NOT NULL,
      clean_rebuild_digest TEXT NOT NULL,
      purge_cache_digest TEXT NOT NULL,
      quiet_seconds BIGINT NOT NULL,
      quiet_seconds_most BIGINT NOT NULL,
      create_time BIGINT NOT NULL,
      regenerate_time BIGINT NOT NULL
    )`,
    sql`CREATE TABLE triggers (
      id TEXT PRIMARY KEY,
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      action TEXT NOT NULL,
      source TEXT NOT NULL,
      address TEXT NOT NULL,
      user_agent TEXT NOT NULL,
      create_time BIGINT NOT NULL,
      answer BIGINT NOT NULL,
      reason TEXT,
      operation_id TEXT,
      purged TEXT
    )`,
    sql`CREATE INDEX triggers_of_environment ON triggers (environment_id, id)`,
    sql`CREATE INDEX triggers_of_operation ON triggers (operation_id) WHERE operation_id IS NOT NULL`,
    // Purges had a table of their own, which is now part of the ledger.
    sql`INSERT INTO triggers (id, environment_id, action, source, address, user_agent, create_time, answer, purged)
      SELECT id, environment_id, 'PURGE_CACHE', source, '', '', purge_time, 200, what FROM purges`,
    sql`DROP TABLE purges`,
    // A build that waits for a burst of calls to settle does not start before this time.
    sql`ALTER TABLE operations ADD COLUMN not_before BIGINT`,
    sql`CREATE INDEX operations_satisfied ON operations (satisfied_by) WHERE satisfied_by IS NOT NULL`,
  ],
}

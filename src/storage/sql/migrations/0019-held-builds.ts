/** Builds with a suspicious output: why, whether they were held, and when the service builds again. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const heldBuilds: Migration = {
  id: 19,
  name: 'held builds',
  statements: [
    // What is suspicious about the output, as JSON.
    sql`ALTER TABLE builds ADD COLUMN suspicion TEXT`,
    sql`ALTER TABLE builds ADD COLUMN is_held BIGINT NOT NULL DEFAULT 0`,
    // To be made live even if its output is suspicious.
    sql`ALTER TABLE builds ADD COLUMN is_forced BIGINT NOT NULL DEFAULT 0`,
    // The limits of an environment, as JSON; null for the defaults.
    sql`ALTER TABLE environments ADD COLUMN suspicious_output TEXT`,
    sql`CREATE INDEX deployments_held ON deployments (environment_id, id) WHERE state = 'HELD'`,

    sql`CREATE TABLE rebuild_retries (
      environment_id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      build_id TEXT NOT NULL,
      endpoints TEXT NOT NULL,
      probes BIGINT NOT NULL,
      rebuilds BIGINT NOT NULL,
      next_time BIGINT,
      until_time BIGINT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX rebuild_retries_due ON rebuild_retries (account_id, next_time) WHERE next_time IS NOT NULL`,
  ],
}

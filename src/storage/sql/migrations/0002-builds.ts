import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const builds: Migration = {
  id: 2,
  name: 'builds and deployments',
  statements: [
    // The user that code of this environment runs as, if the service can choose users; never given to another.
    sql`ALTER TABLE environments ADD COLUMN uid BIGINT`,
    sql`ALTER TABLE environments ADD COLUMN live_deployment TEXT`,
    sql`INSERT INTO revisions (name, value) VALUES ('uids', 200000)`,

    // 'build' or 'quick': a build that takes minutes must not delay work that takes milliseconds.
    sql`ALTER TABLE operations ADD COLUMN lane TEXT NOT NULL DEFAULT 'quick'`,
    sql`ALTER TABLE operations ADD COLUMN satisfied_by TEXT`,
    // The deployment to activate, for operations on an existing one.
    sql`ALTER TABLE operations ADD COLUMN activates TEXT`,

    sql`CREATE TABLE builds (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      environment_id TEXT NOT NULL,
      operation_id TEXT NOT NULL,
      trigger_name TEXT NOT NULL,
      is_clean BIGINT NOT NULL,
      archive_digest TEXT NOT NULL,
      archive_bytes BIGINT NOT NULL,
      archive_files BIGINT NOT NULL,
      state TEXT NOT NULL,
      phase TEXT NOT NULL,
      plan TEXT,
      output_digest TEXT,
      durations TEXT NOT NULL,
      failure TEXT,
      create_time BIGINT NOT NULL,
      start_time BIGINT,
      finish_time BIGINT
    )`,
    sql`CREATE INDEX builds_of_environment ON builds (environment_id, id)`,
    sql`CREATE UNIQUE INDEX builds_of_operation ON builds (operation_id)`,

    sql`CREATE TABLE deployments (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      environment_id TEXT NOT NULL,
      build_id TEXT NOT NULL REFERENCES builds (id),
      operation_id TEXT NOT NULL,
      shell_variables TEXT NOT NULL,
      state TEXT NOT NULL,
      create_time BIGINT NOT NULL,
      live_time BIGINT,
      retire_time BIGINT
    )`,
    sql`CREATE INDEX deployments_of_environment ON deployments (environment_id, id)`,
    sql`CREATE UNIQUE INDEX deployments_of_operation ON deployments (operation_id)`,
  ],
}

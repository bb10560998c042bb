/** Repositories elsewhere that environments follow, what is to be fetched of them, and commit statuses that are to be sent. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const connectedRepositories: Migration = {
  id: 47,
  name: 'connected repositories',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE repositories (
      environment_id TEXT PRIMARY KEY REFERENCES environments (id) ON DELETE CASCADE,
      url TEXT NOT NULL,
      branch TEXT NOT NULL,
      provider TEXT,
      username TEXT NOT NULL,
      sealed_token TEXT,
      sealed_key TEXT,
      public_key TEXT NOT NULL,
      known_hosts TEXT NOT NULL,
      sealed_hook_secret TEXT NOT NULL,
      poll_minutes BIGINT,
      sends_statuses BIGINT NOT NULL,
      last_commit TEXT,
      last_fetch_time BIGINT,
      last_operation TEXT,
      problem TEXT,
      status_problem TEXT,
      revision BIGINT NOT NULL,
      lease TEXT,
      lease_until BIGINT,
      create_time BIGINT NOT NULL,
      update_time BIGINT NOT NULL
    )`,
    sql`CREATE TABLE repository_fetches (
      environment_id TEXT NOT NULL REFERENCES repositories (environment_id) ON DELETE CASCADE,
      branch TEXT NOT NULL,
      is_own BIGINT NOT NULL,
      wishes BIGINT NOT NULL,
      asked TEXT NOT NULL,
      attempts BIGINT NOT NULL,
      next_time BIGINT,
      PRIMARY KEY (environment_id, branch)
    )`,
    sql`CREATE INDEX repository_fetches_due ON repository_fetches (next_time) WHERE next_time IS NOT NULL`,
    sql`CREATE TABLE commit_statuses (
      id TEXT PRIMARY KEY,
      environment_id TEXT NOT NULL REFERENCES repositories (environment_id) ON DELETE CASCADE,
      target_id TEXT NOT NULL,
      operation_id TEXT NOT NULL,
      url TEXT NOT NULL,
      sha TEXT NOT NULL,
      sent_state TEXT,
      attempts BIGINT NOT NULL,
      next_time BIGINT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX commit_statuses_due ON commit_statuses (next_time)`,
    sql`CREATE INDEX commit_statuses_of_environment ON commit_statuses (environment_id, id)`,
  ],
}

/** The use of disk space. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const disk: Migration = {
  id: 4,
  name: 'what is kept on the disk',
  statements: [
    // The size of the output with this digest. Outputs of earlier versions are measured later, in the background.
    sql`ALTER TABLE builds ADD COLUMN output_bytes BIGINT`,
    sql`CREATE INDEX builds_with_output ON builds (output_digest) WHERE output_digest IS NOT NULL`,
    sql`CREATE INDEX builds_unfinished ON builds (environment_id, id) WHERE finish_time IS NULL`,
    sql`CREATE INDEX builds_succeeded ON builds (environment_id, id) WHERE state = 'SUCCEEDED'`,

    // When its files were removed: it stays in the list, and cannot be made live any more.
    sql`ALTER TABLE deployments ADD COLUMN discard_time BIGINT`,
    sql`CREATE INDEX deployments_kept ON deployments (environment_id, id) WHERE discard_time IS NULL`,

    // Sizes that are found by reading whole folders, as they were when that was last done.
    sql`CREATE TABLE usage_figures (
      environment_id TEXT NOT NULL,
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      measure_time BIGINT NOT NULL,
      PRIMARY KEY (environment_id, kind)
    )`,
  ],
}

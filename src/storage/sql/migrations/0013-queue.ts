/**
 * A claim reads the next operation of each account, however many wait, and finds the current ones of an account by the
 * account.
 */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const queue: Migration = {
  id: 13,
  name: 'queue',
  statements: [
    sql`CREATE INDEX operations_queued ON operations (lane, account_id, id) WHERE done_time IS NULL`,
    sql`CREATE INDEX operations_leased ON operations (lane, account_id, environment_id)
      WHERE done_time IS NULL AND lease_owner IS NOT NULL`,
    // What one account has is counted without reading the rows of the others.
    sql`CREATE INDEX environments_of_account ON environments (account_id, id)`,
    sql`CREATE INDEX operations_of_lives ON operations (account_id, id) WHERE trigger_name IN ('CREATE', 'DELETE')`,
    sql`CREATE INDEX builds_outputs_of_account ON builds (account_id, output_digest, environment_id, output_bytes)
      WHERE output_digest IS NOT NULL`,
    sql`CREATE INDEX builds_packages_of_account ON builds (account_id, packages_id, environment_id)
      WHERE packages_id IS NOT NULL`,
    sql`CREATE INDEX usage_figures_of_account ON usage_figures (account_id, environment_id)`,
  ],
}

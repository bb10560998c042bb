/** What the queue of operations is read by: a claim looks at what is next of each account, however many wait. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const queue: Migration = {
  id: 12,
  name: 'queue',
  statements: [
    sql`CREATE INDEX operations_queued ON operations (lane, account_id, id) WHERE done_time IS NULL`,
    sql`CREATE INDEX operations_leased ON operations (lane, account_id, environment_id)
      WHERE done_time IS NULL AND lease_owner IS NOT NULL`,
    sql`CREATE INDEX environments_of_account ON environments (account_id, id)`,
  ],
}

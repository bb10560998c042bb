/** What is in the object store beside archives: lines of logs, and the caches of builds. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const objectStore: Migration = {
  id: 32,
  name: 'object store',
  isForBoth: true,
  statements: [
    // A row is there after its blob is in the store, and before the file with the lines goes.
    sql`CREATE TABLE stored_logs (
      log_name TEXT NOT NULL,
      first_number BIGINT NOT NULL,
      last_number BIGINT NOT NULL,
      digest TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      store_time BIGINT NOT NULL,
      PRIMARY KEY (log_name, first_number)
    )`,
    sql`CREATE TABLE stored_caches (
      environment_id TEXT NOT NULL PRIMARY KEY,
      digest TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      machine TEXT NOT NULL,
      store_time BIGINT NOT NULL
    )`,
  ],
}

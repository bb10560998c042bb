/** What apps keep in the key-value store, where there is an object store. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const values: Migration = {
  id: 33,
  name: 'values',
  isForBoth: true,
  statements: [
    // The sums of the rows of an environment in the next table.
    sql`CREATE TABLE kv_stores (
      environment_id TEXT NOT NULL PRIMARY KEY REFERENCES environments (id) ON DELETE CASCADE,
      bytes BIGINT NOT NULL,
      value_count BIGINT NOT NULL
    )`,
    // A value is in `body`, as base64, or in the blob with the digest. The name is the digest of its key.
    sql`CREATE TABLE kv_values (
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      digest TEXT,
      body TEXT,
      store_time BIGINT NOT NULL,
      use_time BIGINT NOT NULL,
      PRIMARY KEY (environment_id, name)
    )`,
    sql`CREATE INDEX kv_values_by_use ON kv_values (environment_id, use_time, name)`,
    sql`CREATE INDEX kv_values_by_digest ON kv_values (digest) WHERE digest IS NOT NULL`,
  ],
}

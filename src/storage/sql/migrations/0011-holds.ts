/** While a backup copies the data folder, no file that it may still read is removed. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const holds: Migration = {
  id: 11,
  name: 'holds',
  statements: [
    // `draft` is the file that the backup writes: if its process dies, the next backup removes it.
    sql`CREATE TABLE holds (
      id TEXT PRIMARY KEY,
      until BIGINT NOT NULL,
      draft TEXT
    )`,
  ],
}

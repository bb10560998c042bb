/** While somebody copies the data folder, nothing that they may still read is removed. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const holds: Migration = {
  id: 11,
  name: 'holds',
  statements: [
    // `draft` is the file that the holder writes: where it died, the next one removes that.
    sql`CREATE TABLE holds (
      id TEXT PRIMARY KEY,
      until BIGINT NOT NULL,
      draft TEXT
    )`,
  ],
}

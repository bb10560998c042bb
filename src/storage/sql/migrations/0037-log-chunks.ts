/** Logs of a cluster: lines are rows that each process reads, until they are in the object store. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const logChunks: Migration = {
  id: 37,
  name: 'log chunks',
  isForBoth: true,
  statements: [
    // Each transaction that adds lines changes this row, so their numbers are in the order of the commits.
    // Rows from `open_number` on are the newer part, the others the older one; rows from `loose_number` on will be merged.
    sql`CREATE TABLE log_heads (
      log_name TEXT NOT NULL PRIMARY KEY,
      last_number BIGINT NOT NULL,
      open_number BIGINT NOT NULL,
      open_time BIGINT,
      open_bytes BIGINT NOT NULL,
      closed_time BIGINT,
      closed_bytes BIGINT NOT NULL,
      loose_number BIGINT NOT NULL,
      loose_count BIGINT NOT NULL,
      loose_bytes BIGINT NOT NULL
    )`,
    // The lines are the text of a log's file.
    sql`CREATE TABLE log_chunks (
      log_name TEXT NOT NULL,
      first_number BIGINT NOT NULL,
      last_number BIGINT NOT NULL,
      bytes BIGINT NOT NULL,
      write_id TEXT NOT NULL,
      lines TEXT NOT NULL,
      PRIMARY KEY (log_name, first_number)
    )`,
  ],
}

/** Processes on machines of their own that build: one that has nothing to do holds no lease, so no other row knows it. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const workerProcesses: Migration = {
  id: 44,
  name: 'worker processes',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE worker_processes (
      process TEXT NOT NULL PRIMARY KEY,
      places BIGINT NOT NULL,
      version TEXT NOT NULL,
      seen_time BIGINT NOT NULL
    )`,
  ],
}

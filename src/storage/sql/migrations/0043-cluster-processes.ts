/** Control processes and workers of a cluster, for operators: a worker that has nothing to do is in no other row. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const clusterProcesses: Migration = {
  id: 43,
  name: 'cluster processes',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE cluster_processes (
      process TEXT NOT NULL PRIMARY KEY,
      role TEXT NOT NULL,
      host TEXT NOT NULL,
      places BIGINT NOT NULL,
      version TEXT NOT NULL,
      seen_time BIGINT NOT NULL
    )`,
  ],
}

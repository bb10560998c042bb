/** Apps of a cluster: requests in flight, by which their instances are counted, and the memory that they use. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const clusterLoads: Migration = {
  id: 41,
  name: 'cluster loads',
  isForBoth: true,
  statements: [
    // One row for each process that has edges: requests in flight by deployment, as JSON. `beats` rises with each report.
    sql`CREATE TABLE cluster_loads (
      process TEXT NOT NULL PRIMARY KEY,
      loads TEXT NOT NULL,
      beats BIGINT NOT NULL
    )`,
    // In bytes: what an instance uses, and what one of the app used when it was measured last.
    sql`ALTER TABLE cluster_instances ADD COLUMN memory BIGINT NOT NULL DEFAULT 0`,
    sql`ALTER TABLE cluster_apps ADD COLUMN memory BIGINT NOT NULL DEFAULT 0`,
  ],
}

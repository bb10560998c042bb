/** Machines that run apps in a cluster, and the rules of their firewalls. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const clusterNodes: Migration = {
  id: 40,
  name: 'cluster nodes',
  isForBoth: true,
  statements: [
    // `id`, `hostname`, `address`, `region` and `state` are those of the swarm; the other columns come from the role on the node.
    sql`CREATE TABLE cluster_nodes (
      id TEXT NOT NULL PRIMARY KEY,
      hostname TEXT NOT NULL DEFAULT '',
      address TEXT NOT NULL DEFAULT '',
      region TEXT NOT NULL DEFAULT '',
      state TEXT NOT NULL DEFAULT '',
      name TEXT NOT NULL DEFAULT '',
      process TEXT NOT NULL DEFAULT '',
      connection BIGINT NOT NULL DEFAULT 0,
      control TEXT NOT NULL DEFAULT '',
      confirmed BIGINT NOT NULL DEFAULT 0,
      heartbeats BIGINT NOT NULL DEFAULT 0,
      memory BIGINT NOT NULL DEFAULT 0,
      engine TEXT NOT NULL DEFAULT '',
      version TEXT NOT NULL DEFAULT ''
    )`,
    sql`CREATE TABLE node_rules (
      name TEXT NOT NULL PRIMARY KEY,
      revision BIGINT NOT NULL,
      rules TEXT NOT NULL
    )`,
  ],
}

/** Apps of a cluster: what should run, and what runs. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const clusterApps: Migration = {
  id: 36,
  name: 'cluster apps',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE cluster_apps (
      deployment TEXT NOT NULL PRIMARY KEY,
      environment TEXT NOT NULL,
      account TEXT NOT NULL,
      region TEXT NOT NULL,
      image TEXT NOT NULL,
      service TEXT NOT NULL,
      record TEXT NOT NULL,
      scaling TEXT NOT NULL,
      generation BIGINT NOT NULL,
      replicas BIGINT NOT NULL,
      kept BIGINT NOT NULL,
      is_retired BIGINT NOT NULL,
      is_gone BIGINT NOT NULL,
      retire_time BIGINT NOT NULL,
      starter TEXT NOT NULL,
      hold_time BIGINT NOT NULL,
      crashes BIGINT NOT NULL,
      restarts BIGINT NOT NULL,
      busy BIGINT NOT NULL,
      visit_time BIGINT NOT NULL,
      revision BIGINT NOT NULL
    )`,
    sql`CREATE INDEX cluster_apps_by_revision ON cluster_apps (revision)`,
    sql`CREATE INDEX cluster_apps_by_account ON cluster_apps (account)`,
    sql`CREATE TABLE cluster_instances (
      instance TEXT NOT NULL PRIMARY KEY,
      deployment TEXT NOT NULL,
      node TEXT,
      address TEXT,
      port BIGINT,
      state TEXT NOT NULL,
      is_listening BIGINT NOT NULL,
      is_ready BIGINT NOT NULL,
      ready_time BIGINT NOT NULL,
      exit_code BIGINT,
      reason TEXT,
      message TEXT NOT NULL,
      output TEXT
    )`,
    sql`CREATE INDEX cluster_instances_by_deployment ON cluster_instances (deployment)`,
  ],
}

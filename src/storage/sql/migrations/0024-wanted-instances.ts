/**
 * How many instances of a deployment should run, and when it was last visited: after a start of the service, apps that were
 * awake come back first.
 */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const wantedInstances: Migration = {
  id: 24,
  name: 'wanted instances',
  statements: [
    sql`ALTER TABLE deployments ADD COLUMN wanted_instances BIGINT NOT NULL DEFAULT 0`,
    sql`ALTER TABLE deployments ADD COLUMN visit_time BIGINT`,
    sql`CREATE INDEX deployments_wanted ON deployments (visit_time) WHERE wanted_instances > 0`,
  ],
}

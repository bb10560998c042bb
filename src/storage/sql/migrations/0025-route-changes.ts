/**
 * The revision at which the routes of each environment changed last, so that an edge is told the changes and not everything. A
 * row outlives its environment: that is how the edge learns of the end.
 */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const routeChanges: Migration = {
  id: 25,
  name: 'route changes',
  statements: [
    sql`CREATE TABLE route_changes (environment_id TEXT NOT NULL PRIMARY KEY, revision BIGINT NOT NULL)`,
    sql`CREATE INDEX route_changes_by_revision ON route_changes (revision)`,
  ],
}

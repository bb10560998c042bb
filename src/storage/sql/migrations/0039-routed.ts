/** Several control processes: one that has changed a route waits until the edges of all of them use it. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const routed: Migration = {
  id: 39,
  name: 'routes in use',
  isForBoth: true,
  statements: [sql`ALTER TABLE control_processes ADD COLUMN routed BIGINT`],
}

/** A build that is tried once more without caches records why the first attempt failed. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const firstFailure: Migration = {
  id: 21,
  name: 'why the first attempt of a build failed',
  statements: [sql`ALTER TABLE builds ADD COLUMN first_failure TEXT`],
}

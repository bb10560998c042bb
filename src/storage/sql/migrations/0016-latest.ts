/** The newest work of an environment is found without reading the purges that came after it. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const latest: Migration = {
  id: 16,
  name: 'latest',
  statements: [
    sql`CREATE INDEX operations_of_work ON operations (environment_id, id) WHERE trigger_name <> 'PURGE_CACHE'`,
  ],
}

/** Several control processes: each edge follows one of them, and all of them see which purges it has applied. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const controlProcesses: Migration = {
  id: 35,
  name: 'control processes',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE control_processes (process TEXT NOT NULL PRIMARY KEY, heartbeats BIGINT NOT NULL)`,
    sql`ALTER TABLE edges ADD COLUMN control TEXT NOT NULL DEFAULT ''`,
    sql`ALTER TABLE edges ADD COLUMN connection BIGINT NOT NULL DEFAULT 0`,
    sql`ALTER TABLE edges ADD COLUMN applied BIGINT NOT NULL DEFAULT 0`,
  ],
}

/** Purges in the order in which they were recorded, and the edges that may have something stored: each gets what it missed. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const purgeLog: Migration = {
  id: 26,
  name: 'purge log',
  statements: [
    sql`CREATE TABLE purge_log (number BIGINT NOT NULL PRIMARY KEY, purge TEXT NOT NULL, create_time BIGINT NOT NULL)`,
    sql`CREATE TABLE edges (process TEXT NOT NULL PRIMARY KEY)`,
  ],
}

/** Which of several control processes on one database leads. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const leadership: Migration = {
  id: 34,
  name: 'leadership',
  isForBoth: true,
  statements: [
    // With the term in a key, PostgreSQL lets a renewal pass beside fenced transactions, and a new term wait for them.
    sql`CREATE TABLE leadership (
      name TEXT NOT NULL PRIMARY KEY,
      term BIGINT NOT NULL,
      holder TEXT NOT NULL,
      time BIGINT NOT NULL,
      UNIQUE (name, term)
    )`,
  ],
}

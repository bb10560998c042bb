/** Several control processes: the answers to a CA reach the edges of all of them. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const acmeChallenges: Migration = {
  id: 38,
  name: 'acme challenges',
  isForBoth: true,
  statements: [
    // One row, with all challenges sealed: some have a private key.
    sql`CREATE TABLE acme_challenges (name TEXT NOT NULL PRIMARY KEY, revision BIGINT NOT NULL, challenges TEXT NOT NULL)`,
    sql`CREATE TABLE acme_confirmations (control TEXT NOT NULL PRIMARY KEY, revision BIGINT NOT NULL)`,
  ],
}

/** Tokens of processes of other machines can be revoked one by one: a row counts how often that was done for a name. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const joinTokens: Migration = {
  id: 42,
  name: 'join tokens',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE join_tokens (
      role TEXT NOT NULL,
      name TEXT NOT NULL,
      generation BIGINT NOT NULL DEFAULT 0,
      make_time BIGINT,
      revoke_time BIGINT,
      PRIMARY KEY (role, name)
    )`,
  ],
}

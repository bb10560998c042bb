/** The networks from which users have logged in, and invitations to accounts. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const consent: Migration = {
  id: 12,
  name: 'consent',
  statements: [
    sql`CREATE TABLE known_networks (
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      network TEXT NOT NULL,
      last_time BIGINT NOT NULL,
      PRIMARY KEY (user_id, network)
    )`,
    // Separate from memberships, so that no check of access can mistake one for the other.
    sql`CREATE TABLE invitations (
      id TEXT PRIMARY KEY,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      role TEXT NOT NULL,
      inviter TEXT NOT NULL,
      create_time BIGINT NOT NULL,
      UNIQUE (user_id, account_id)
    )`,
    sql`CREATE INDEX invitations_of_account ON invitations (account_id, id)`,
  ],
}

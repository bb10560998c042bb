/** For the portal: memberships with an id of their own, the account that made a user, and counts of visits. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const portal: Migration = {
  id: 10,
  name: 'portal',
  statements: [
    // An account must not show the ids of its users, which contain a time and are the same in other accounts.
    sql`ALTER TABLE memberships ADD COLUMN id TEXT`,
    sql`ALTER TABLE memberships ADD COLUMN create_time BIGINT`,
    sql`UPDATE memberships SET id = user_id,
      create_time = (SELECT create_time FROM users WHERE users.id = memberships.user_id)`,
    sql`CREATE UNIQUE INDEX memberships_of_account ON memberships (account_id, id)`,
    // The account whose owner made the user and saw the first password; null if the operator did.
    sql`ALTER TABLE users ADD COLUMN made_by TEXT`,
    sql`CREATE INDEX sessions_of_user ON sessions (user_id)`,

    // Counts of one environment over a minute or an hour, as a JSON array of numbers.
    sql`CREATE TABLE traffic (
      environment_id TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
      step_seconds BIGINT NOT NULL,
      start_time BIGINT NOT NULL,
      counts TEXT NOT NULL,
      PRIMARY KEY (environment_id, step_seconds, start_time)
    )`,
    sql`CREATE INDEX traffic_by_age ON traffic (step_seconds, start_time)`,
  ],
}

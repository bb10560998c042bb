/** The hosts that a build contacted over the network. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const contacts: Migration = {
  id: 5,
  name: 'contacts of builds',
  statements: [sql`ALTER TABLE builds ADD COLUMN contacts TEXT`],
}

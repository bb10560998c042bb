/** Whether and how long the edge keeps pages by their content, and which deployments tell it what a page is made of. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const learnedCaching: Migration = {
  id: 52,
  name: 'learned caching',
  isForBoth: true,
  statements: [
    sql`ALTER TABLE environments ADD COLUMN learned_caching TEXT`,
    sql`ALTER TABLE deployments ADD COLUMN names_content BIGINT NOT NULL DEFAULT 0`,
  ],
}

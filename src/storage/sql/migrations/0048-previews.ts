/** Previews: environments of a branch, which are removed when they are idle. Builds record what they were made of. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const previews: Migration = {
  id: 48,
  name: 'previews',
  isForBoth: true,
  statements: [
    // As JSON; null for the defaults.
    sql`ALTER TABLE apps ADD COLUMN previews TEXT`,
    // Null for an environment that is no preview.
    sql`ALTER TABLE environments ADD COLUMN preview_branch TEXT`,
    sql`ALTER TABLE environments ADD COLUMN active_time BIGINT NOT NULL DEFAULT 0`,
    sql`ALTER TABLE environments ADD COLUMN inherited_variables TEXT NOT NULL DEFAULT '[]'`,
    sql`ALTER TABLE environments ADD COLUMN has_own_protection BIGINT NOT NULL DEFAULT 0`,
    sql`CREATE UNIQUE INDEX previews_of_app ON environments (app_id, preview_branch)
      WHERE preview_branch IS NOT NULL AND state <> 'DELETING'`,
    // Keyed digests of what a build sees beside its archive, by name, as JSON. Null where it was not recorded.
    sql`ALTER TABLE builds ADD COLUMN inputs TEXT`,
    // Where its archive or its output came from, as JSON.
    sql`ALTER TABLE builds ADD COLUMN promoted_from TEXT`,
  ],
}

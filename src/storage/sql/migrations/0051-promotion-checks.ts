/** Checks of new versions: the setting of an environment, what was found, why a build is held, and who went on all the same. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const promotionChecks: Migration = {
  id: 51,
  name: 'promotion checks',
  isForBoth: true,
  statements: [
    // As JSON; null for the defaults.
    sql`ALTER TABLE environments ADD COLUMN promotion_checks TEXT`,
    // As JSON of a limited size; null where nothing was checked.
    sql`ALTER TABLE deployments ADD COLUMN check_report TEXT`,
    // Null for a build that is not held, and for one that an earlier version has held.
    sql`ALTER TABLE builds ADD COLUMN held_reason TEXT`,
    // What was asked for was to go live, whatever was found.
    sql`ALTER TABLE triggers ADD COLUMN is_forced BIGINT NOT NULL DEFAULT 0`,
  ],
}

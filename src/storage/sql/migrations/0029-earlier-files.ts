/** Which files of earlier deployments are served beside the live one. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const earlierFiles: Migration = {
  id: 29,
  name: 'earlier files',
  isForBoth: true,
  statements: [
    // The file name of the index that is used while this deployment is live; null where there are no earlier files.
    sql`ALTER TABLE deployments ADD COLUMN earlier_index TEXT`,
    // 1: its files are not served any more, although it was live.
    sql`ALTER TABLE deployments ADD COLUMN is_withdrawn BIGINT NOT NULL DEFAULT 0`,
  ],
}

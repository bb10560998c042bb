/** The repositories of apps: refs are rows, and packs are blobs. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const repositories: Migration = {
  id: 46,
  name: 'repositories',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE git_refs (
      app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      target TEXT NOT NULL,
      update_time BIGINT NOT NULL,
      PRIMARY KEY (app_id, name)
    )`,
    sql`CREATE TABLE git_packs (
      id TEXT PRIMARY KEY,
      app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
      account_id TEXT NOT NULL,
      name TEXT NOT NULL,
      pack_digest TEXT NOT NULL,
      index_digest TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE UNIQUE INDEX git_packs_of_app ON git_packs (app_id, name)`,
    sql`CREATE INDEX git_packs_of_account ON git_packs (account_id)`,
  ],
}

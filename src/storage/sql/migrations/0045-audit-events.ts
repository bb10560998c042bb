/** The audit log: who changed what. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const auditEvents: Migration = {
  id: 45,
  name: 'audit events',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE audit_events (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      action TEXT NOT NULL,
      resource TEXT NOT NULL,
      title TEXT NOT NULL,
      fields TEXT NOT NULL,
      by_kind TEXT NOT NULL,
      by_name TEXT NOT NULL,
      way TEXT NOT NULL,
      address TEXT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX audit_events_of_account ON audit_events (account_id, id)`,
  ],
}

/** Notification targets, the notices for them, and their deliveries. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const notices: Migration = {
  id: 49,
  name: 'notices',
  isForBoth: true,
  statements: [
    sql`CREATE TABLE notification_targets (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      display_name TEXT NOT NULL,
      kind TEXT NOT NULL,
      sealed_address TEXT NOT NULL,
      notice_kinds TEXT NOT NULL,
      apps TEXT NOT NULL,
      is_enabled BIGINT NOT NULL,
      disabled_reason TEXT,
      create_time BIGINT NOT NULL,
      update_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX notification_targets_of_account ON notification_targets (account_id, id)`,
    sql`CREATE TABLE notices (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      app_name TEXT,
      environment_id TEXT,
      resource TEXT NOT NULL,
      title TEXT NOT NULL,
      text TEXT NOT NULL,
      link TEXT,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX notices_of_account ON notices (account_id, resource)`,
    sql`CREATE TABLE notice_conditions (
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      dedupe_key TEXT NOT NULL,
      environment_id TEXT REFERENCES environments (id) ON DELETE CASCADE,
      create_time BIGINT NOT NULL,
      PRIMARY KEY (account_id, dedupe_key)
    )`,
    sql`CREATE INDEX notice_conditions_of_environment ON notice_conditions (environment_id)`,
    sql`CREATE TABLE notification_deliveries (
      id TEXT PRIMARY KEY,
      notice_id TEXT NOT NULL REFERENCES notices (id) ON DELETE CASCADE,
      target_id TEXT NOT NULL REFERENCES notification_targets (id) ON DELETE CASCADE,
      account_id TEXT NOT NULL,
      state TEXT NOT NULL,
      attempts BIGINT NOT NULL,
      is_claimed BIGINT NOT NULL DEFAULT 0,
      next_time BIGINT,
      status BIGINT,
      error TEXT,
      create_time BIGINT NOT NULL,
      end_time BIGINT
    )`,
    sql`CREATE INDEX notification_deliveries_of_target ON notification_deliveries (target_id, id)`,
    sql`CREATE INDEX notification_deliveries_of_notice ON notification_deliveries (notice_id)`,
    sql`CREATE INDEX notification_deliveries_due ON notification_deliveries (next_time) WHERE next_time IS NOT NULL`,
  ],
}

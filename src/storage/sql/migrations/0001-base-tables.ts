import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const baseTables: Migration = {
  id: 1,
  name: 'ground floor',
  statements: [
    // Facts about this installation as a whole, such as the id of the master key its secrets are sealed with.
    sql`CREATE TABLE instance (
      name TEXT PRIMARY KEY,
      value TEXT NOT NULL
    )`,
    // Numbers that rise with every change that other processes follow.
    sql`CREATE TABLE revisions (
      name TEXT PRIMARY KEY,
      value BIGINT NOT NULL
    )`,
    sql`INSERT INTO revisions (name, value) VALUES ('routes', 0)`,

    sql`CREATE TABLE accounts (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE TABLE users (
      id TEXT PRIMARY KEY,
      email TEXT NOT NULL UNIQUE,
      password_hash TEXT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE TABLE memberships (
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      role TEXT NOT NULL,
      PRIMARY KEY (user_id, account_id)
    )`,
    sql`CREATE TABLE credentials (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      display_name TEXT NOT NULL,
      role TEXT NOT NULL,
      password_digest TEXT NOT NULL,
      create_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX credentials_of_account ON credentials (account_id, id)`,
    sql`CREATE TABLE sessions (
      digest TEXT PRIMARY KEY,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      create_time BIGINT NOT NULL,
      expire_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX sessions_by_expiry ON sessions (expire_time)`,
    sql`CREATE TABLE log_in_attempts (
      subject TEXT PRIMARY KEY,
      paid_until BIGINT NOT NULL
    )`,

    sql`CREATE TABLE cms_installs (
      account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      url TEXT NOT NULL,
      PRIMARY KEY (account_id, name)
    )`,
    sql`CREATE TABLE apps (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      folded_name TEXT NOT NULL,
      region TEXT NOT NULL,
      create_time BIGINT NOT NULL,
      delete_time BIGINT
    )`,
    // A deleted app frees its name at once, while its environments are still being deleted.
    sql`CREATE UNIQUE INDEX apps_by_name ON apps (account_id, folded_name) WHERE delete_time IS NULL`,
    sql`CREATE INDEX apps_of_account ON apps (account_id, id)`,
    sql`CREATE TABLE environments (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      app_id TEXT NOT NULL REFERENCES apps (id),
      display_name TEXT NOT NULL,
      branch TEXT NOT NULL,
      cms_environment TEXT NOT NULL,
      root_directory TEXT NOT NULL,
      shell_variables TEXT NOT NULL,
      host_label TEXT UNIQUE,
      state TEXT NOT NULL,
      create_time BIGINT NOT NULL,
      update_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX environments_of_app ON environments (app_id, id)`,

    // No foreign key to the environment: the operation that deletes one is still read when it is gone.
    sql`CREATE TABLE operations (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      app_name TEXT NOT NULL,
      folded_app_name TEXT NOT NULL,
      environment_id TEXT NOT NULL,
      trigger_name TEXT NOT NULL,
      phase TEXT NOT NULL,
      build TEXT NOT NULL,
      deployment TEXT NOT NULL,
      attempts BIGINT NOT NULL,
      lease_owner TEXT,
      lease_until BIGINT,
      cancel_time BIGINT,
      create_time BIGINT NOT NULL,
      done_time BIGINT,
      response TEXT,
      error TEXT
    )`,
    sql`CREATE INDEX operations_of_environment ON operations (environment_id, id)`,
    sql`CREATE INDEX operations_unfinished ON operations (environment_id, id) WHERE done_time IS NULL`,
  ],
}

/** Certificates for host names, and the account at the CA that issues them. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const certificates: Migration = {
  id: 28,
  name: 'certificates',
  isForBoth: true,
  statements: [
    // The key is sealed. `url` is null until the CA has answered.
    sql`CREATE TABLE acme_accounts (
      directory TEXT PRIMARY KEY,
      sealed_key TEXT NOT NULL,
      url TEXT,
      email TEXT NOT NULL
    )`,
    // One row for each name that gets its certificate by ACME, and one for each uploaded certificate. Keys are sealed; that
    // of an order is stored before the order. `account_id` is null for names of the operator. `wanted` is 0 if no site has
    // the name any more: a valid certificate is kept, in case the name comes back.
    sql`CREATE TABLE certificates (
      id TEXT PRIMARY KEY,
      source TEXT NOT NULL,
      account_id TEXT REFERENCES accounts (id) ON DELETE CASCADE,
      names TEXT NOT NULL,
      acme_name TEXT UNIQUE,
      wanted BIGINT NOT NULL DEFAULT 1,
      state TEXT NOT NULL,
      attempts BIGINT NOT NULL DEFAULT 0,
      next_time BIGINT,
      failure TEXT,
      directory TEXT,
      order_url TEXT,
      sealed_order_key TEXT,
      challenge TEXT,
      dns_record TEXT,
      chain TEXT,
      sealed_key TEXT,
      issuer TEXT,
      not_before BIGINT,
      not_after BIGINT,
      renew_time BIGINT,
      renewal_info_time BIGINT,
      lease_owner TEXT,
      lease_until BIGINT,
      create_time BIGINT NOT NULL,
      update_time BIGINT NOT NULL
    )`,
    sql`CREATE INDEX certificates_of_account ON certificates (account_id, id)`,
    sql`CREATE INDEX certificates_due ON certificates (next_time) WHERE next_time IS NOT NULL`,
  ],
}

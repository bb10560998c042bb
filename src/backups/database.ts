/**
 * The database as one file: copied while others write to it, and examined. The only file of this module that knows that
 * it is SQLite.
 */
import { checkSchema, MIGRATIONS, type Sql, statement } from '../storage/index.ts'
import { DatabaseDamaged } from './damaged.ts'
import { checkRows } from './rows.ts'

export type OpenSql = (file: string) => Promise<Sql>

/** For an untrusted file: the signal ends every query. */
export type OpenForeignSql = (file: string, options: { signal?: AbortSignal | undefined }) => Promise<Sql>

export type Facts = { schema: number; keyId: string | null }

/**
 * Copies the rows of one moment. Readers of a write-ahead log do not block writers, and a copy row by row leaves out
 * deleted data.
 */
export async function copyDatabase(sql: Sql, to: string) {
  await sql.query(statement`VACUUM INTO ${to}`)
}

/** Throws unless it has exactly the tables of one of our migrations. To be called before everything else. */
export const examineSchema = (sql: Sql, schema: number): Promise<void> =>
  checkSchema(
    sql,
    MIGRATIONS.filter(({ id }) => id <= schema),
  )

/** Throws unless it is intact, and its rows are valid. */
export async function examineDatabase(sql: Sql): Promise<Facts> {
  const faults = await sql.query<{ integrity_check: string }>(statement`PRAGMA integrity_check(3)`)
  const report = faults.map(({ integrity_check }) => integrity_check).join('; ')
  if (report !== 'ok') throw new DatabaseDamaged(`The database is damaged: ${report}`)
  const [strays] = await sql.query(statement`PRAGMA foreign_key_check`)
  if (strays) throw new DatabaseDamaged('The database refers to rows that are not there.')
  const [row] = await sql.query<{ schema: number | null }>(statement`SELECT MAX(id) AS schema FROM schema_migrations`)
  await checkRows(sql, row?.schema ?? 0)
  const [key] = await sql.query<{ value: string }>(statement`SELECT value FROM instance WHERE name = 'master_key_id'`)
  return { schema: row?.schema ?? 0, keyId: key?.value ?? null }
}

/**
 * No process works on a copy: unfinished operations are resumed at once, and do not wait for leases of another machine. Requests
 * are about visitors, and not kept in backups: their bytes are overwritten.
 */
export async function releaseAll(sql: Sql) {
  await sql.transaction(async (tx) => {
    await tx.query(statement`PRAGMA secure_delete = ON`)
    await tx.query(statement`DELETE FROM log_heads WHERE log_name LIKE 'requests/%'`)
    await tx.query(statement`DELETE FROM log_chunks WHERE log_name LIKE 'requests/%'`)
    await tx.query(statement`DELETE FROM holds`)
    await tx.query(statement`UPDATE operations SET lease_owner = NULL, lease_until = NULL WHERE done_time IS NULL`)
  })
}

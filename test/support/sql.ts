/** A real database, migrated: SQLite in a temporary folder, or PostgreSQL. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseDatabaseAddress, systemClock } from '../../src/base/index.ts'
import { MIGRATIONS, migrate, type Sql } from '../../src/storage/index.ts'
import { openSqlite } from '../../src/storage/sql/sqlite.ts'
import { type Scope, temporaryFolder } from './folder.ts'
import { createMigrated, usesPostgres } from './postgres/databases.ts'

/** The file of the first database, before anything was written to it: all migrations take longer than most tests. */
let migrated: Buffer | undefined

export async function migratedSql(t: Scope): Promise<Sql> {
  if (usesPostgres) return migratedPostgres(t)
  const file = join(await temporaryFolder(t), 'test.db')
  if (migrated) await writeFile(file, migrated)
  const sql = await openSqlite(file)
  t.after(() => sql.close())
  if (!migrated) {
    await migrate(sql, MIGRATIONS, systemClock.now())
    migrated = await readWhole(file)
  }
  return sql
}

async function migratedPostgres(t: Scope): Promise<Sql> {
  const { openPostgres } = await import('../../src/storage/sql/postgres/postgres.ts')
  const sql = await openPostgres(parseDatabaseAddress(await createMigrated()))
  t.after(() => sql.close())
  return sql
}

/** What the file beside it still holds is moved to it first. */
async function readWhole(file: string): Promise<Buffer> {
  const database = new DatabaseSync(file)
  const moved = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  database.close()
  assert.equal(moved?.busy, 0)
  return readFile(file)
}

/** A real SQLite database in a temporary folder, migrated. */
import { join } from 'node:path'
import { systemClock } from '../../src/base/index.ts'
import { MIGRATIONS, migrate, type Sql } from '../../src/storage/index.ts'
import { openSqlite } from '../../src/storage/sql/sqlite.ts'
import { type Scope, temporaryFolder } from './folder.ts'

export async function migratedSql(t: Scope): Promise<Sql> {
  const sql = await openSqlite(join(await temporaryFolder(t), 'test.db'))
  t.after(() => sql.close())
  await migrate(sql, MIGRATIONS, systemClock.now())
  return sql
}

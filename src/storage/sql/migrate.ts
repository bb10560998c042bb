/** Brings the database to the schema of this version: forward only, each step in a transaction. */
import { type Sql, type Statement, statement, type Transaction } from './sql.ts'

export type Migration = { id: number; name: string; statements: readonly Statement[] }

export async function migrate(sql: Sql, migrations: readonly Migration[], now: number): Promise<Migration[]> {
  const newest = migrations.at(-1)?.id ?? 0
  await sql.transaction((tx) =>
    tx.query(statement`
      CREATE TABLE IF NOT EXISTS schema_migrations (
        id BIGINT PRIMARY KEY,
        name TEXT NOT NULL,
        apply_time BIGINT NOT NULL
      )`),
  )
  const applied: Migration[] = []
  for (const migration of migrations) {
    const ran = await sql.transaction(async (tx) => {
      // Read inside the transaction: another process may be migrating the same file.
      const current = await version(tx)
      if (current > newest) throw new SchemaTooNew(current, newest)
      if (migration.id <= current) return false
      for (const step of migration.statements) await tx.query(step)
      await tx.query(
        statement`INSERT INTO schema_migrations (id, name, apply_time) VALUES (${migration.id}, ${migration.name}, ${now})`,
      )
      return true
    })
    if (ran) applied.push(migration)
  }
  return applied
}

export class SchemaTooNew extends Error {
  constructor(found: number, known: number) {
    super(
      `The data folder was last used by a newer Headland (schema ${found}; this one knows ${known}). Start that version again, or restore a backup made by this one.`,
    )
    this.name = 'SchemaTooNew'
  }
}

async function version(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ id: number | null }>(statement`SELECT MAX(id) AS id FROM schema_migrations`)
  return row?.id ?? 0
}

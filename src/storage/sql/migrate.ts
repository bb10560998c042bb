/** Brings the database to the schema of this version: forward only, each step in a transaction. */
import { type Sql, type Statement, statement, type Transaction } from './sql.ts'

export type Migration = {
  id: number
  name: string
  statements: readonly Statement[]
  /** The version before works with the new schema too, so the two may run side by side during a reload. */
  isForBoth?: true
}

/** Which migrations were applied. */
const RECORD = statement`
      CREATE TABLE IF NOT EXISTS schema_migrations (
        id BIGINT PRIMARY KEY,
        name TEXT NOT NULL,
        apply_time BIGINT NOT NULL
      )`

/** One process at a time, and a statement may take minutes where there are many rows. */
const MIGRATING = { exclusive: 'migration', isLong: true } as const

type Options = {
  /** A service of an earlier version uses the database, and goes on. */
  isShared?: boolean
}

export async function migrate(
  sql: Sql,
  migrations: readonly Migration[],
  now: number,
  { isShared = false }: Options = {},
): Promise<Migration[]> {
  const newest = migrations.at(-1)?.id ?? 0
  const known = await sql.transaction(async (tx) => {
    await tx.query(RECORD)
    return version(tx)
  }, MIGRATING)
  if (known > newest) throw new SchemaTooNew(known, newest)
  const applied: Migration[] = []
  for (const migration of migrations.filter(({ id }) => id > known)) {
    const ran = await sql.transaction(async (tx) => {
      // Read inside the transaction: another process may be migrating the same file.
      const current = await version(tx)
      if (current > newest) throw new SchemaTooNew(current, newest)
      if (migration.id <= current) return false
      const pending = migrations.filter(({ id }) => id > current)
      if (isShared && !pending.every(({ isForBoth }) => isForBoth)) throw new SchemaNeedsStop()
      for (const step of migration.statements) await tx.query(step)
      await tx.query(
        statement`INSERT INTO schema_migrations (id, name, apply_time) VALUES (${migration.id}, ${migration.name}, ${now})`,
      )
      return true
    }, MIGRATING)
    if (ran) applied.push(migration)
  }
  return applied
}

/** Makes the tables in a database that has none, and records nothing: the rows come from another database. */
export async function createTables(tx: Transaction, migrations: readonly Migration[]) {
  await tx.query(RECORD)
  for (const { statements } of migrations) for (const step of statements) await tx.query(step)
}

export class SchemaTooNew extends Error {
  constructor(found: number, known: number) {
    super(
      `The data folder was last used by a newer Headland (schema ${found}; this one knows ${known}). Start that version again, or restore a backup made by this one.`,
    )
    this.name = 'SchemaTooNew'
  }
}

export class SchemaNeedsStop extends Error {
  constructor() {
    super(
      'This version changes the database in a way that the running version cannot work with. Stop the service, make a backup, and start the new version.',
    )
    this.name = 'SchemaNeedsStop'
  }
}

async function version(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ id: number | null }>(statement`SELECT MAX(id) AS id FROM schema_migrations`)
  return row?.id ?? 0
}

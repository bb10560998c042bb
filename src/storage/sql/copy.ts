/**
 * Copies every row of one database into another that has none, and compares both afterwards. One of the two is SQLite, which
 * tells the tables, their columns and which refers to which.
 */
import { hash } from 'node:crypto'
import { Refused } from '../../contract/index.ts'
import { createTables, migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/index.ts'
import {
  identifier,
  joined,
  list,
  type Reader,
  type Row,
  rows,
  type Sql,
  type Statement,
  statement,
  type Transaction,
} from './sql.ts'

/** One statement may take minutes, and other processes that migrate wait. */
const COPYING = { exclusive: 'migration', isLong: true } as const

/** In one transaction, so that a copy that is interrupted leaves nothing. */
export function copyToPostgres(sqlite: Sql, postgres: Sql): Promise<TableFacts[]> {
  return sqlite.transaction(async (from) => {
    await refuseOtherVersion(from)
    return postgres.transaction(async (to) => {
      const [table] = await to.query<{ name: string }>(
        statement`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`,
      )
      if (table) throw new Refused(`The PostgreSQL database is not empty: it has the table ${table.name}.`)
      await createTables(to, MIGRATIONS)
      return copyRows({ from, to, sqlite: from })
    }, COPYING)
  })
}

/** The rows of one moment, while others write; into a new file. */
export async function copyToSqlite(postgres: Sql, sqlite: Sql): Promise<TableFacts[]> {
  await migrate(sqlite, MIGRATIONS, 0)
  return postgres.transaction(
    async (from) => {
      // No transaction of others conflicts with it.
      await from.query(statement`SET TRANSACTION READ ONLY DEFERRABLE`)
      await refuseOtherVersion(from)
      return sqlite.transaction((to) => copyRows({ from, to, sqlite: to }))
    },
    { isLong: true },
  )
}

async function refuseOtherVersion(from: Reader) {
  const known = MIGRATIONS.at(-1)?.id ?? 0
  const [row] = await from
    .query<{ id: number | null }>(statement`SELECT MAX(id) AS id FROM schema_migrations`)
    .catch((error) => {
      if (/no such table|does not exist/.test(error.message))
        throw new Refused('The database has no tables of Headland.')
      throw error
    })
  if (row?.id === known) return
  throw new Refused(
    `The database has schema ${row?.id ?? 0}, and this version has ${known}. Start this version once with it, and stop it again.`,
  )
}

type Table = { name: string; columns: readonly string[]; key: readonly string[] }

/** Together at most so many values are read and inserted at a time. */
const MAX_VALUES = 10_000
const MAX_ROWS = 500

const DIGEST_MODULUS = 1n << 256n

export type TableFacts = { name: string; count: number; digest: string }

type Copying = {
  from: Reader
  to: Transaction
  /** The one of the two that is SQLite. */
  sqlite: Reader
}

/** Throws, so that the transaction is rolled back, if the copy is not the same row by row. Resolves to what was copied. */
async function copyRows({ from, to, sqlite }: Copying): Promise<TableFacts[]> {
  const tables = await tablesIn(sqlite)
  // What the migrations inserted.
  for (const { name } of tables.toReversed()) await to.query(statement`DELETE FROM ${identifier(name)}`)
  const copied: TableFacts[] = []
  for (const table of tables) {
    const facts = await factsOf(from, table, async (page) => {
      const names = joined(table.columns.map(identifier))
      const values = page.map((row) => table.columns.map((column) => row[column] ?? null))
      await to.query(statement`INSERT INTO ${identifier(table.name)} (${names}) VALUES ${rows(values)}`)
    })
    copied.push(facts)
  }
  for (const [at, table] of tables.entries()) {
    const { count, digest } = await factsOf(to, table)
    const expected = copied[at]
    if (count !== expected?.count || digest !== expected.digest) {
      throw new Refused(
        `The copy of the table ${table.name} differs: ${count} rows, and ${expected?.count} in the source. Nothing was changed.`,
      )
    }
  }
  return copied
}

/** The tables of SQLite, each after those that it refers to. */
async function tablesIn(sqlite: Reader): Promise<Table[]> {
  const found = await sqlite.query<{ name: string }>(
    statement`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
  )
  const names = found.map(({ name }) => name)
  const references = await sqlite.query<{ name: string; target: string }>(statement`
    SELECT s.name AS name, f."table" AS target FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f
    WHERE s.type = 'table'`)
  const columns = await sqlite.query<{ table_name: string; name: string; pk: number }>(statement`
    SELECT s.name AS table_name, c.name AS name, c.pk AS pk FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
    WHERE s.type = 'table' AND s.name IN (${list(names)}) ORDER BY s.name, c.cid`)
  return inOrder(names, references).map((name) => {
    const own = columns.filter((column) => column.table_name === name)
    const key = own.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
    if (key.length === 0) throw new Error(`the table ${name} has no primary key`)
    return { name, columns: own.map((column) => column.name), key: key.map((column) => column.name) }
  })
}

function inOrder(names: readonly string[], references: readonly { name: string; target: string }[]): string[] {
  const ordered: string[] = []
  const left = new Set(names)
  while (left.size > 0) {
    const next = [...left].find(
      (name) => !references.some((one) => one.name === name && one.target !== name && left.has(one.target)),
    )
    if (next === undefined) throw new Error('the tables refer to each other in a circle')
    ordered.push(next)
    left.delete(next)
  }
  return ordered
}

/** The digest does not depend on the order of the rows, in which databases may differ. */
async function factsOf(
  reader: Reader,
  table: Table,
  onPage: (rows: Row[]) => Promise<void> = async () => undefined,
): Promise<TableFacts> {
  let count = 0
  let sum = 0n
  for await (const page of pagesOf(reader, table)) {
    for (const row of page) {
      const text = JSON.stringify(table.columns.map((column) => row[column] ?? null))
      sum = (sum + BigInt(`0x${hash('sha256', text)}`)) % DIGEST_MODULUS
    }
    count += page.length
    await onPage(page)
  }
  return { name: table.name, count, digest: sum.toString(16).padStart(64, '0') }
}

async function* pagesOf(reader: Reader, { name, columns, key }: Table): AsyncGenerator<Row[]> {
  const size = Math.max(1, Math.min(MAX_ROWS, Math.floor(MAX_VALUES / columns.length)))
  const [names, keys] = [joined(columns.map(identifier)), joined(key.map(identifier))]
  let after: Statement = statement`1 = 1`
  for (;;) {
    const page = await reader.query<Row>(
      statement`SELECT ${names} FROM ${identifier(name)} WHERE ${after} ORDER BY ${keys} LIMIT ${size}`,
    )
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (!last || page.length < size) return
    after = statement`(${keys}) > (${list(key.map((column) => last[column] ?? null))})`
  }
}

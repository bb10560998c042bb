/**
 * Compares the schema of a database with the migrations. A file from elsewhere may have views that never end and
 * triggers that run with every write, so this check comes first: reading the schema executes nothing of it.
 */
import { DatabaseSync } from 'node:sqlite'
import { createTables, type Migration } from './migrate.ts'
import { type Reader, type Row, type Statement, statement } from './sql.ts'

type SchemaObject = { type: string; name: string; sql: string | null }

export class SchemaForeign extends Error {
  constructor(what: string, todo = '') {
    super(`The database has the ${what}, which is not of Headland's making.${todo}`)
    this.name = 'SchemaForeign'
  }
}

/** Throws unless the database has exactly what these migrations make. */
export async function checkSchema(sql: Reader, migrations: readonly Migration[]) {
  const made = await schemaOf(migrations)
  const expected = new Map(made.map((object) => [nameOf(object), textOf(object)]))
  for (const object of await readSchema(sql)) {
    if (expected.get(nameOf(object)) !== textOf(object)) throw new SchemaForeign(nameOf(object))
    // Each name once: a second one of the same name is foreign.
    expected.delete(nameOf(object))
  }
  for (const named of expected.keys()) throw new Error(`The database has no ${named}, which every Headland makes.`)
}

/** Made in memory and by this thread: the statements are our own, and without rows they take milliseconds. */
async function schemaOf(migrations: readonly Migration[]): Promise<SchemaObject[]> {
  const blank = new DatabaseSync(':memory:')
  const query = async <R extends Row>({ texts, values }: Statement) =>
    blank.prepare(texts.join('?')).all(...values) as R[]
  try {
    await createTables({ writes: true, query, notify: () => undefined }, migrations)
    return await readSchema({ query })
  } finally {
    blank.close()
  }
}

/** SQLite uses the text alone: the type that an entry declares is ignored. */
const PASSIVE = /^CREATE (TABLE|(UNIQUE )?INDEX) /i

/** Run at every start: Headland has no triggers, views or virtual tables, so any that exist were made by others. */
export async function refuseTriggers(sql: Reader) {
  const found = (await readSchema(sql)).find((object) => object.sql !== null && !PASSIVE.test(textOf(object)))
  if (found) throw new SchemaForeign(nameOf(found), ' Drop it with sqlite3, or restore a backup, and start again.')
}

const readSchema = (reader: Reader): Promise<SchemaObject[]> =>
  reader.query<SchemaObject>(statement`SELECT type, name, sql FROM sqlite_schema`)

const nameOf = ({ type, name }: SchemaObject): string => `${type} ${JSON.stringify(name)}`

const textOf = ({ sql }: SchemaObject): string =>
  String(sql ?? '')
    .replace(/\s+/g, ' ')
    .trim()

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { checkSchema, refuseTriggers } from './schema.ts'
import { type Statement, statement } from './sql.ts'
import { openSqlite, openSqliteApart } from './sqlite.ts'

async function open(t: TestContext, file: string) {
  const sql = await openSqlite(file)
  t.after(() => sql.close())
  return sql
}

async function migrated(t: TestContext) {
  const file = join(await temporaryFolder(t), 'x.db')
  const sql = await open(t, file)
  await migrate(sql, MIGRATIONS, 0)
  return { file, sql }
}

test('the schema of every migration is its own and no other', async (t) => {
  const sql = await open(t, join(await temporaryFolder(t), 'x.db'))
  for (const { id } of MIGRATIONS) {
    const upTo = MIGRATIONS.filter((migration) => migration.id <= id)
    await migrate(sql, upTo, 0)
    await checkSchema(sql, upTo)
  }
})

test('a schema after a copy row by row is the same', async (t) => {
  const { file, sql } = await migrated(t)
  await sql.query(statement`VACUUM INTO ${`${file}.copy`}`)
  await checkSchema(await open(t, `${file}.copy`), MIGRATIONS)
})

const FOREIGN: Record<string, string> = {
  'a trigger': 'CREATE TRIGGER t AFTER INSERT ON apps BEGIN DELETE FROM users; END',
  'a view': 'CREATE VIEW v AS SELECT 1',
  'a virtual table': 'CREATE VIRTUAL TABLE f USING fts5 (text)',
  'a trigger that is declared as a table': `
    CREATE TRIGGER t AFTER INSERT ON apps BEGIN DELETE FROM users; END;
    PRAGMA writable_schema = ON; UPDATE sqlite_schema SET type = 'table' WHERE name = 't'`,
}

for (const [what, text] of Object.entries(FOREIGN)) {
  test(`a database with ${what} is refused at the start`, async (t) => {
    const { file, sql } = await migrated(t)
    await refuseTriggers(sql)
    const other = new DatabaseSync(file)
    other.enableDefensive(false)
    other.exec(text)
    other.close()
    await assert.rejects(open(t, file).then(refuseTriggers), /not of Headland's making|malformed/)
  })
}

const ENDLESS: Statement = statement`
  WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT MAX(x) AS x FROM n`

test('a database in a process of its own answers, and is ended in the middle of a question', async (t) => {
  const { file } = await migrated(t)
  const stopping = new AbortController()
  const sql = await openSqliteApart(file, { signal: stopping.signal })
  assert.deepEqual(await sql.query(statement`SELECT 1 AS one`), [{ one: 1 }])
  const asked = assert.rejects(sql.query(ENDLESS), /enough/)
  setImmediate(() => stopping.abort(new Error('enough')))
  await asked
  await assert.rejects(sql.query(statement`SELECT 1 AS one`), /enough/)
  await sql.close()
})

test('opening in a process of its own rejects for a file that is no database, and for an aborted signal', async (t) => {
  const folder = await temporaryFolder(t)
  await assert.rejects(openSqliteApart(join(folder, 'missing', 'x.db')), { name: 'StorageUnavailable' })
  assert.throws(() => openSqliteApart(join(folder, 'x.db'), { signal: AbortSignal.abort(new Error('over')) }), /over/)
})

test('no statement writes to the schema behind the back of SQLite', async (t) => {
  const { sql } = await migrated(t)
  await assert.rejects(
    sql.transaction((tx) => tx.query(statement`UPDATE sqlite_schema SET sql = '' WHERE name = 'apps'`)),
    /may not be modified/,
  )
})

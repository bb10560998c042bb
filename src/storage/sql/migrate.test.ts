import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { type Migration, migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { statement } from './sql.ts'
import { openSqlite } from './sqlite.ts'

const first: Migration = { id: 1, name: 'first', statements: [statement`CREATE TABLE one (id BIGINT)`] }
const second: Migration = { id: 2, name: 'second', statements: [statement`CREATE TABLE two (id BIGINT)`] }
const broken: Migration = {
  id: 2,
  name: 'broken',
  statements: [statement`CREATE TABLE half (id BIGINT)`, statement`CREATE TABLE one (id BIGINT)`],
}

async function open(t: Parameters<typeof temporaryFolder>[0]) {
  const sql = await openSqlite(join(await temporaryFolder(t), 'migrate.db'))
  t.after(() => sql.close())
  return sql
}

test('each migration runs once, in order', async (t) => {
  const sql = await open(t)
  assert.deepEqual(
    (await migrate(sql, [first], 0)).map(({ id }) => id),
    [1],
  )
  assert.deepEqual(
    (await migrate(sql, [first, second], 0)).map(({ id }) => id),
    [2],
  )
  assert.deepEqual(await migrate(sql, [first, second], 0), [])
})

test('two processes that migrate at once end with one migrated database', async (t) => {
  const file = join(await temporaryFolder(t), 'migrate.db')
  const both = await Promise.all([openSqlite(file), openSqlite(file)])
  t.after(() => Promise.all(both.map((sql) => sql.close())))
  const applied = await Promise.all(both.map((sql) => migrate(sql, MIGRATIONS, 0)))
  assert.equal(applied.flat().length, MIGRATIONS.length)
})

test('a migration that fails half-way leaves the database as it was', async (t) => {
  const sql = await open(t)
  await assert.rejects(migrate(sql, [first, broken], 0), /already exists/)
  await assert.rejects(sql.query(statement`SELECT * FROM half`), /no such table/)
  assert.deepEqual(
    (await migrate(sql, [first, second], 0)).map(({ id }) => id),
    [2],
  )
})

test('a database that is newer than the code is refused', async (t) => {
  const sql = await open(t)
  await migrate(sql, [first, second], 0)
  await assert.rejects(migrate(sql, [first], 0), { name: 'SchemaTooNew', message: /newer Headland/ })
})

test('the ids of the migrations rise without a gap', () => {
  assert.deepEqual(
    MIGRATIONS.map(({ id }) => id),
    MIGRATIONS.map((_, index) => index + 1),
  )
})

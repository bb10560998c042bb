import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqlSuite } from '../../../test/suites/sql.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { statement } from './sql.ts'
import { openSqlite } from './sqlite.ts'

sqlSuite('SQLite', async (t) => {
  const file = join(await temporaryFolder(t), 'suite.db')
  return async () => {
    const sql = await openSqlite(file)
    t.after(() => sql.close())
    return sql
  }
})

test('SQLite runs with a write-ahead log, full fsync and foreign keys', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'pragmas.db'))
  t.after(() => sql.close())
  const pragmas = await sql.transaction(async (tx) => ({
    ...(await tx.query(statement`PRAGMA journal_mode`))[0],
    ...(await tx.query(statement`PRAGMA synchronous`))[0],
    ...(await tx.query(statement`PRAGMA foreign_keys`))[0],
  }))
  assert.deepEqual(pragmas, { journal_mode: 'wal', synchronous: 2, foreign_keys: 1 })
})

test('a folder that does not exist is refused when the database is opened', async () => {
  await assert.rejects(openSqlite('/nowhere/at/all.db'), { name: 'StorageUnavailable' })
})

test('notifications of a transaction are delivered once it is committed, and never if it is rolled back', async (t) => {
  const received: string[] = []
  const sql = await openSqlite(join(await temporaryFolder(t), 'notify.db'), {
    onChange: (accountId, name) => received.push(`${accountId} ${name}`),
  })
  t.after(() => sql.close())
  await sql.transaction(async (tx) => {
    await tx.query(statement`CREATE TABLE notes (id BIGINT PRIMARY KEY)`)
    tx.notify('a', 'apps/one')
    tx.notify('a', 'apps/two')
    assert.deepEqual(received, [])
  })
  assert.deepEqual(received, ['a apps/one', 'a apps/two'])
  const failing = sql.transaction(async (tx) => {
    tx.notify('a', 'apps/three')
    await tx.query(statement`INSERT INTO absent VALUES (1)`)
  })
  await assert.rejects(failing, /no such table/)
  assert.equal(received.length, 2)
})

test('where a transaction cannot begin, it says why, and nothing of it is written', async (t) => {
  const file = join(await temporaryFolder(t), 'locked.db')
  const sql = await openSqlite(file, { timeoutMs: 50 })
  t.after(() => sql.close())
  await sql.transaction((tx) => tx.query(statement`CREATE TABLE notes (id BIGINT PRIMARY KEY)`))
  const add = (id: number) => sql.transaction((tx) => tx.query(statement`INSERT INTO notes (id) VALUES (${id})`))
  const another = new DatabaseSync(file)
  t.after(() => another.close())
  another.exec('BEGIN IMMEDIATE')
  await assert.rejects(add(1), { name: 'StorageUnavailable' })
  another.exec('ROLLBACK')
  await add(2)
  assert.deepEqual(await sql.query(statement`SELECT id FROM notes`), [{ id: 2 }])
})

test('what was sent along with the end of a transaction is not written without one', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'over.db'))
  t.after(() => sql.close())
  await sql.transaction((tx) => tx.query(statement`CREATE TABLE notes (id BIGINT PRIMARY KEY)`))
  // As SQLite does by itself after some disk errors.
  const over = sql.transaction((tx) =>
    Promise.all([tx.query(statement`ROLLBACK`), tx.query(statement`INSERT INTO notes (id) VALUES (${1})`)]),
  )
  await assert.rejects(over, /no transaction is active/)
  assert.deepEqual(await sql.query(statement`SELECT id FROM notes`), [])
})

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqlSuite } from '../../test/suites/sql.ts'
import { temporaryFolder } from '../../test/support/folder.ts'
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

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { leadershipSuite, startLeading } from '../../../test/suites/leadership.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { systemClock } from '../../base/index.ts'
import { migrate } from '../sql/migrate.ts'
import { MIGRATIONS } from '../sql/migrations/index.ts'
import { type Sql, StorageUnavailable, statement } from '../sql/sql.ts'
import { openSqlite } from '../sql/sqlite.ts'
import { createLoneElection } from './alone.ts'

async function openMigrated(t: Parameters<typeof temporaryFolder>[0]): Promise<Sql> {
  const sql = await openSqlite(join(await temporaryFolder(t), 'headland.db'))
  t.after(() => sql.close())
  await migrate(sql, MIGRATIONS, 0)
  return sql
}

leadershipSuite('SQLite', async (t) => {
  const sql = await openMigrated(t)
  return { sql, election: async () => createLoneElection({ sql, clock: systemClock }) }
})

test('on a full disk the process leads as well, and its term is written with the first fenced transaction', async (t) => {
  const sql = await openMigrated(t)
  let isFull = true
  const full: Sql = {
    ...sql,
    transaction: (work) =>
      isFull ? Promise.reject(new StorageUnavailable('database or disk is full')) : sql.transaction(work),
  }
  const { leads } = startLeading(t, createLoneElection({ sql: full, clock: systemClock }), 'one')
  const term = await leads()
  assert.deepEqual(await sql.query(statement`SELECT term FROM leadership`), [])
  isFull = false
  await full.transaction(term.check)
  assert.deepEqual(await sql.query(statement`SELECT term, holder FROM leadership`), [
    { term: term.number, holder: 'one' },
  ])
})

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { migrate } from '../migrate.ts'
import { statement } from '../sql.ts'
import { openSqlite } from '../sqlite.ts'
import { columnNames } from './0023-column-names.ts'
import { MIGRATIONS } from './index.ts'

test('an operation that waits keeps its queue, under the new name of the column', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'names.db'))
  t.after(() => sql.close())
  await migrate(
    sql,
    MIGRATIONS.filter(({ id }) => id < columnNames.id),
    0,
  )
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES ('account', 'ours', 0)`)
    await tx.query(statement`
      INSERT INTO operations (id, account_id, app_name, folded_app_name, environment_id, trigger_name, phase, build,
        deployment, attempts, create_time, lane)
      VALUES ('waits', 'account', 'shop', 'shop', 'e1', 'REBUILD', 'QUEUED', '', '', 0, 0, 'light')`)
  })
  await migrate(sql, MIGRATIONS, 0)
  assert.deepEqual(await sql.query(statement`SELECT queue FROM operations`), [{ queue: 'light' }])
  assert.deepEqual(await sql.query(statement`SELECT max_quiet_seconds FROM webhook_sets`), [])
})

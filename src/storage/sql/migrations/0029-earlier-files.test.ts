import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { migrate } from '../migrate.ts'
import { type Sql, statement } from '../sql.ts'
import { openSqlite } from '../sqlite.ts'
import { earlierFiles } from './0029-earlier-files.ts'
import { MIGRATIONS } from './index.ts'

/** As the version before does it. */
const insert = (sql: Sql, id: string) =>
  sql.transaction((tx) =>
    tx.query(statement`
      INSERT INTO deployments (id, account_id, environment_id, build_id, operation_id, shell_variables, state, create_time)
      VALUES (${id}, 'account', 'environment', 'build', ${id}, '[]', 'STARTING', 0)`),
  )

test('the version before makes deployments before and after the migration, and their files may be served', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'earlier.db'))
  t.after(() => sql.close())
  const before = MIGRATIONS.filter(({ id }) => id < earlierFiles.id)
  await migrate(sql, before, 0)
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES ('account', 'ours', 0)`)
    await tx.query(statement`
      INSERT INTO builds (id, account_id, environment_id, operation_id, trigger_name, is_clean, archive_digest,
        archive_bytes, archive_files, state, phase, durations, create_time)
      VALUES ('build', 'account', 'environment', 'o', 'UPLOAD', 0, 'x', 1, 1, 'SUCCEEDED', 'DONE', '{}', 0)`)
  })
  await insert(sql, 'd1')
  assert.deepEqual(await migrate(sql, [...before, earlierFiles], 0, { isShared: true }), [earlierFiles])
  await insert(sql, 'd2')
  assert.deepEqual(await sql.query(statement`SELECT id, earlier_index, is_withdrawn FROM deployments ORDER BY id`), [
    { id: 'd1', earlier_index: null, is_withdrawn: 0 },
    { id: 'd2', earlier_index: null, is_withdrawn: 0 },
  ])
})

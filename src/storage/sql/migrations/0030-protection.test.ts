import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { migrate } from '../migrate.ts'
import { type Sql, statement } from '../sql.ts'
import { openSqlite } from '../sqlite.ts'
import { protection } from './0030-protection.ts'
import { MIGRATIONS } from './index.ts'

/** As the version before does it. */
const insert = (sql: Sql, id: string) =>
  sql.transaction((tx) =>
    tx.query(statement`
      INSERT INTO environments (id, account_id, app_id, display_name, branch, cms_environment, root_directory,
        suspicious_output, scaling, shell_variables, state, create_time, update_time)
      VALUES (${id}, 'account', 'app', 'x', 'uploadable', 'cms', '', NULL, NULL, '[]', 'EMPTY', 0, 0)`),
  )

test('environments that are there stay listed by search engines, and the version before can still make others', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'protection.db'))
  t.after(() => sql.close())
  const before = MIGRATIONS.filter(({ id }) => id < protection.id)
  await migrate(sql, before, 0)
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES ('account', 'ours', 0)`)
    await tx.query(statement`
      INSERT INTO apps (id, account_id, name, folded_name, region, create_time)
      VALUES ('app', 'account', 'shop', 'shop', 'regions/UK', 0)`)
  })
  await insert(sql, 'e1')
  assert.deepEqual(await migrate(sql, [...before, protection], 0, { isShared: true }), [protection])
  await insert(sql, 'e2')
  assert.deepEqual(await sql.query(statement`SELECT id, is_production, protection FROM environments ORDER BY id`), [
    { id: 'e1', is_production: 1, protection: null },
    { id: 'e2', is_production: 0, protection: null },
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestId } from '../../src/data-folder.ts'
import { openCoreModules } from '../support/modules/core.ts'

test('a new database has no newest id', async (t) => {
  const { sql } = await openCoreModules(t)
  assert.equal(await newestId(sql), undefined)
})

test('the newest id is that of what was made last', async (t) => {
  const { sql, newId, accounts, operations } = await openCoreModules(t)
  const { id: accountId } = await accounts.create('account')
  const at = { accountId, appName: 'app', environmentId: newId() }
  await sql.transaction((tx) => operations.request(tx, at, 'CREATE'))
  const { id } = await sql.transaction((tx) => operations.request(tx, at, 'UPDATE'))
  assert.equal(await newestId(sql), id)
})

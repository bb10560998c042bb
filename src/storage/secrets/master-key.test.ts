import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmod, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { migratedSql } from '../../../test/support/sql.ts'
import { openVault } from './master-key.ts'

async function setUp(t: Parameters<typeof temporaryFolder>[0]) {
  const folder = await temporaryFolder(t)
  return { folder, file: join(folder, 'master.key'), sql: await migratedSql(t), given: undefined }
}

test('the first start makes a key that only its owner can read, and the next one uses it', async (t) => {
  const { sql, file, given, folder } = await setUp(t)
  const first = await openVault(sql, { file, given })
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(folder), ['master.key'])
  const second = await openVault(sql, { file, given })
  assert.equal(second.open(first.seal('x', 'p'), 'p'), 'x')
})

test('a key file that is gone stops the start instead of being made anew', async (t) => {
  const { sql, file, given } = await setUp(t)
  await openVault(sql, { file, given })
  await rm(file)
  await assert.rejects(openVault(sql, { file, given }), /is gone/)
  await assert.rejects(stat(file), { code: 'ENOENT' })
})

test('another key than the one that sealed the secrets stops the start', async (t) => {
  const { sql, file, given } = await setUp(t)
  await openVault(sql, { file, given })
  await assert.rejects(openVault(sql, { file, given: randomBytes(32).toString('base64') }), /Put the right key back/)
})

test('a key that others can read stops the start and says how to mend it', async (t) => {
  const { sql, file, given } = await setUp(t)
  await openVault(sql, { file, given })
  await chmod(file, 0o644)
  await assert.rejects(openVault(sql, { file, given }), /chmod 600/)
})

test('a key given by setting is used, and no file is made', async (t) => {
  const { sql, file, folder } = await setUp(t)
  await openVault(sql, { file, given: randomBytes(32).toString('base64') })
  assert.deepEqual(await readdir(folder), [])
  await assert.rejects(openVault(sql, { file, given: 'short' }), /32 bytes in base64/)
})

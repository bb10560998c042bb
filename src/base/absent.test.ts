import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { absent } from './absent.ts'

test('a file that does not exist is undefined, and every other error is thrown', async (t) => {
  const folder = await temporaryFolder(t)
  assert.equal(await readFile(join(folder, 'none')).catch(absent), undefined)
  await assert.rejects(readFile(folder).catch(absent), { code: 'EISDIR' })
})

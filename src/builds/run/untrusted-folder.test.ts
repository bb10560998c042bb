import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { isAnythingIn, isFolderIn, textIn } from './untrusted-folder.ts'

test('neither two dots nor a link lead out of a folder', async (t) => {
  const around = await temporaryFolder(t)
  const top = join(around, 'top')
  await mkdir(join(top, 'inner'), { recursive: true })
  await writeFile(join(around, 'secret'), 'x')
  await writeFile(join(top, 'inner/file'), 'y')
  await symlink('..', join(top, 'up'))
  assert.equal(await textIn(top, 'inner/file', 10), 'y')
  assert.equal(await isFolderIn(top, 'inner'), true)
  for (const path of ['..', 'inner/..', 'inner/../..', 'up']) assert.equal(await isFolderIn(top, path), false, path)
  for (const path of ['../secret', 'inner/../../secret', 'up/secret', 'inner/../inner/file'])
    assert.equal(await textIn(top, path, 10), undefined, path)
  assert.equal(await isAnythingIn(top, '../secret'), false)
})

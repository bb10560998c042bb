import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { longestWorkMs, MAX_STALL_MS } from '../../../test/support/machine/stalls.ts'
import { missingNatives, readNpmLockfile } from './npm-lockfile.ts'

const NAME = 'package-lock.json'

test('a lockfile is read in an isolated process', async (t) => {
  const folder = await temporaryFolder(t)
  const packages = { 'node_modules/a': { integrity: 'sha512-x' } }
  await writeFile(join(folder, NAME), JSON.stringify({ packages }))
  assert.deepEqual(await readNpmLockfile(folder, NAME), { isPinned: true, natives: [], tarballs: [] })
  assert.equal(await readNpmLockfile(folder, 'apps/a/package-lock.json'), undefined)
})

test('a lockfile that is larger than any is refused with its size and the limit, and not read', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, NAME), '{}')
  await truncate(join(folder, NAME), 409_000_000)
  await assert.rejects(readNpmLockfile(folder, NAME), {
    reason: 'LOCKFILE_MISMATCH',
    message: /^package-lock\.json has 390 MB, and at most 32\.0 MB are read\. Run `npm install`/,
  })
})

test('a lockfile of half a million empty lists does not hold up the service', async (t) => {
  const folder = await temporaryFolder(t)
  const text = `{"packages":[${'[],'.repeat(500_000)}0]}`
  await writeFile(join(folder, NAME), text)
  const ms = await longestWorkMs(() =>
    readNpmLockfile(folder, NAME).catch((error) => assert.equal(error.reason, 'LOCKFILE_MISMATCH', String(error))),
  )
  assert.ok(ms < MAX_STALL_MS, `${ms} ms`)
})

test('links, folders and pipes in the place of a lockfile are no lockfile', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'real'), '{}')
  await symlink('/etc/passwd', join(folder, 'outside'))
  await symlink('real', join(folder, 'link'))
  await symlink('.', join(folder, 'up'))
  await mkdir(join(folder, 'folder'))
  await promisify(execFile)('mkfifo', [join(folder, 'pipe')])
  for (const path of ['outside', 'link', 'up/real', 'folder', 'pipe', '../etc/passwd', '', '.', 'none', 'real/x'])
    assert.equal(await readNpmLockfile(folder, path), undefined, path)
})

test('native packages are looked for without following a link', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'node_modules/there'), { recursive: true })
  await symlink('/etc', join(folder, 'node_modules/etc'))
  const native = (name: string) => ({ name, parent: null, parentVersion: null, folder: `node_modules/${name}` })
  const natives = ['there', 'absent', 'etc/passwd'].map(native)
  const missing = await missingNatives({ isPinned: true, natives, tarballs: [] }, folder)
  assert.deepEqual(
    missing.map(({ name }) => name),
    ['absent', 'etc/passwd'],
  )
})

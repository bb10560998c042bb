import assert from 'node:assert/strict'
import { readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { blobsSuite } from '../../../test/suites/blobs.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { openDiskBlobs } from './blobs-disk.ts'

blobsSuite('a folder', async (t) => openDiskBlobs(await temporaryFolder(t)))

test('a source that fails leaves no file, not even a draft', async (t) => {
  const folder = await temporaryFolder(t)
  const blobs = await openDiskBlobs(folder)
  const failing = async function* () {
    yield Buffer.from('half')
    throw new Error('gone')
  }
  await assert.rejects(blobs.put(failing()), /gone/)
  assert.deepEqual(await readdir(join(folder, 'aside')), [])
})

test('drafts of a dead process are removed, and those being written are not', async (t) => {
  const folder = await temporaryFolder(t)
  await openDiskBlobs(folder)
  const [old, fresh] = [join(folder, 'aside', 'old'), join(folder, 'aside', 'fresh')]
  await writeFile(old, 'x')
  await writeFile(fresh, 'x')
  const twoHoursAgo = new Date(Date.now() - 2 * 60 * 60 * 1000)
  await utimes(old, twoHoursAgo, twoHoursAgo)
  await openDiskBlobs(folder)
  assert.deepEqual(await readdir(join(folder, 'aside')), ['fresh'])
})

test('what is put again counts as put now', async (t) => {
  const folder = await temporaryFolder(t)
  const blobs = await openDiskBlobs(folder)
  const source = async function* () {
    yield Buffer.from('the same')
  }
  const { digest } = await blobs.put(source())
  const twoHoursAgo = new Date(Date.now() - 2 * 60 * 60 * 1000)
  await blobs.withFile(digest, (file) => utimes(file, twoHoursAgo, twoHoursAgo))
  await blobs.put(source())
  assert.equal(await blobs.remove(digest, { putSince: Date.now() - 60_000 }), false)
  assert.deepEqual(await blobs.list(), [digest])
})

test('what is not a blob is not listed', async (t) => {
  const folder = await temporaryFolder(t)
  const blobs = await openDiskBlobs(folder)
  await writeFile(join(folder, 'notes'), 'x')
  await writeFile(join(folder, 'aside', 'a'.repeat(64)), 'x')
  assert.deepEqual(await blobs.list(), [])
})

test('a blob is readable only by its owner', async (t) => {
  const folder = await temporaryFolder(t)
  const blobs = await openDiskBlobs(folder)
  const { digest } = await blobs.put(
    (async function* () {
      yield Buffer.from('secret source')
    })(),
  )
  const hex = digest.slice('sha256:'.length)
  assert.equal((await stat(join(folder, hex.slice(0, 2), hex))).mode & 0o077, 0)
})

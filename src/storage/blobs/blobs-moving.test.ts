import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { blobsSuite } from '../../../test/suites/blobs.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { openDiskBlobs } from './blobs-disk.ts'
import { createMovingBlobs } from './blobs-moving.ts'

async function setUp(t: TestContext) {
  const folder = await temporaryFolder(t)
  const [from, to] = [await openDiskBlobs(join(folder, 'from')), await openDiskBlobs(join(folder, 'to'))]
  return { from, to, folder, blobs: createMovingBlobs(from, to) }
}

const source = async function* () {
  yield Buffer.from('of before')
}

blobsSuite('a store that blobs are moved to', async (t) => (await setUp(t)).blobs)

test('a blob of before is read before it is moved, and after', async (t) => {
  const { from, to, blobs } = await setUp(t)
  const { digest } = await from.put(source())
  assert.equal(String(await buffer(await blobs.open(digest))), 'of before')
  assert.deepEqual(await blobs.list(), [digest])
  await blobs.sweep()
  assert.deepEqual([await from.list(), await to.list()], [[], [digest]])
  assert.equal(String(await blobs.withFile(digest, (file) => readFile(file))), 'of before')
})

test('a blob that is damaged on the disk stays there, and nothing of it is in the store', async (t) => {
  const { from, to, blobs } = await setUp(t)
  const { digest } = await from.put(source())
  await from.withFile(digest, (file) => writeFile(file, 'damaged'))
  await blobs.sweep()
  assert.deepEqual([await from.list(), await to.list()], [[digest], []])
})

test('a blob that is removed is removed from both', async (t) => {
  const { from, to, blobs } = await setUp(t)
  const { digest } = await from.put(source())
  await to.put(source())
  assert.equal(await blobs.remove(digest, { putSince: Date.now() - 60_000 }), false)
  assert.equal(await blobs.remove(digest), true)
  assert.deepEqual([await from.list(), await to.list()], [[], []])
})

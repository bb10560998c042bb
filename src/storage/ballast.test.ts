import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { createBallast } from './ballast.ts'

async function setUp(t: TestContext) {
  const folder = await temporaryFolder(t)
  return { folder, ballast: createBallast(join(folder, 'ballast')) }
}

test('ballast takes disk space until it is thrown out, once', async (t) => {
  const { folder, ballast } = await setUp(t)
  assert.equal(ballast.throwOut(), false)
  await ballast.load()
  const { blocks } = await stat(join(folder, 'ballast'))
  assert.ok(blocks * 512 >= ballast.bytes)
  assert.equal(ballast.throwOut(), true)
  assert.equal(ballast.throwOut(), false)
  assert.deepEqual(await readdir(folder), [])
})

test('ballast that is there is left as it is', async (t) => {
  const { folder, ballast } = await setUp(t)
  await ballast.load()
  const { ino } = await stat(join(folder, 'ballast'))
  await ballast.load()
  assert.equal((await stat(join(folder, 'ballast'))).ino, ino)
})

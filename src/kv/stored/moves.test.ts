/** Values that were files before there was an object store. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { text } from '../../../test/suites/kv.ts'
import { openStoredValues as open } from '../../../test/support/object-store/values.ts'
import { until } from '../../../test/support/until.ts'
import { StorageUnavailable } from '../../storage/index.ts'
import { nameOf } from '../kv.ts'
import { MOVE_MS } from './moves.ts'

const LARGE = 10_000

test('a value of before is moved by its first use', async (t) => {
  const { values, files, filesOf, ours, theirs, stored, emptyCache } = await open(t, { blocks: 100 })
  await files.put(ours, 'small', text('s'))
  await files.put(ours, 'large', text('l', LARGE))
  await files.put(ours, 'unused', text('u'))
  assert.equal(await values.get(theirs, 'small'), undefined)
  assert.deepEqual(await values.get(ours, 'small'), text('s'))
  assert.ok(await values.bytesOf(ours, 'large'))
  await emptyCache()
  assert.deepEqual(await values.get(ours, 'large'), text('l', LARGE))
  assert.deepEqual([await filesOf(ours), stored().length], [1, 1])
})

test('all values of before are moved by themselves, in the order of their use, and their folders go', async (t) => {
  const { values, files, folders, ours, theirs, clock } = await open(t)
  for (const key of 'abcd') {
    await files.put(ours, key, text(key))
    await clock.advance(1000)
  }
  await files.put(theirs, 'a', text('t', LARGE))
  await writeFile(join(folders.values(ours), 'some.new'), 'a draft')
  values.start()
  await until(() => !existsSync(folders.values(ours)) && !existsSync(folders.values(theirs)))
  assert.deepEqual([(await values.sizeOf(ours)).files, (await values.sizeOf(theirs)).files], [4, 1])
  await values.put(ours, 'e', text('e'))
  assert.deepEqual([await values.get(ours, 'a'), await values.get(ours, 'b')], [undefined, text('b')])
})

test('a new value counts, and the file of before never comes back', async (t) => {
  const { values, files, filesOf, ours, clock } = await open(t)
  await files.put(ours, 'a', text('old', LARGE))
  await clock.advance(1000)
  await values.put(ours, 'a', text('new'))
  assert.equal(await filesOf(ours), 0)
  assert.deepEqual(await values.get(ours, 'a'), text('new'))
})

test('a move that was cut off before the file went is ended without a change', async (t) => {
  const { values, files, filesOf, held, ours, clock, stored } = await open(t)
  await files.put(ours, 'a', text('old', LARGE))
  held.isHeld = true
  assert.deepEqual(await values.get(ours, 'a'), text('old', LARGE))
  assert.deepEqual([await filesOf(ours), stored().length], [1, 1])
  await clock.advance(1000)
  held.isHeld = false
  assert.deepEqual(await values.get(ours, 'a'), text('old', LARGE))
  assert.deepEqual([await filesOf(ours), stored().length], [0, 1])
})

test('after a write that was cut off before the file went, the newer value stays', async (t) => {
  const { values, files, filesOf, ours, clock } = await open(t)
  await files.put(ours, 'a', text('old'))
  const time = clock.now()
  await clock.advance(1000)
  await values.put(ours, 'a', text('new'))
  await clock.advance(time - clock.now())
  await files.put(ours, 'a', text('old'))
  await clock.advance(5000)
  assert.deepEqual(await values.get(ours, 'a'), text('new'))
  assert.equal(await filesOf(ours), 0)
})

test('what was written without a store after a row is newer than the row', async (t) => {
  const { values, files, start, ours, clock } = await open(t)
  await values.put(ours, 'a', text('in the store', LARGE / 100))
  await clock.advance(1000)
  await files.put(ours, 'a', text('in a file'))
  assert.deepEqual(await (await start()).get(ours, 'a'), text('in a file'))
})

test('a damaged file is not found and goes', async (t) => {
  const { values, files, folders, filesOf, ours } = await open(t)
  await files.put(ours, 'a', text('a'))
  await truncate(join(folders.values(ours), nameOf('a')), 50)
  assert.equal(await values.get(ours, 'a'), undefined)
  assert.equal(await filesOf(ours), 0)
})

test('while the store is away large files stay, and are moved when it is back', async (t) => {
  const { server, values, files, filesOf, folders, ours, clock } = await open(t, { blocks: 100 })
  await files.put(ours, 'large', text('l', LARGE))
  await server.stop()
  await assert.rejects(values.get(ours, 'large'), StorageUnavailable)
  values.start()
  await until(() => clock.sleeping() > 0)
  assert.equal(await filesOf(ours), 1)
  await server.startAgain()
  await clock.advance(MOVE_MS)
  await until(() => !existsSync(folders.values(ours)))
  assert.deepEqual(await values.get(ours, 'large'), text('l', LARGE))
})

test('files of an environment that the database does not know stay', async (t) => {
  const { sql, environments, values, files, filesOf, ours, clock } = await open(t)
  await files.put(ours, 'a', text('a'))
  await sql.transaction((tx) => environments.remove(tx, ours))
  values.start()
  await until(() => clock.sleeping() > 0)
  assert.equal(await filesOf(ours), 1)
})

test('a minute after the last file, the disk is not looked at any more', async (t) => {
  const { values, files, filesOf, ours, clock } = await open(t)
  values.start()
  for (let rounds = 0; rounds < 12; rounds++) {
    await until(() => clock.sleeping() > 0 || rounds === 11)
    await clock.advance(MOVE_MS)
  }
  await until(() => clock.sleeping() === 0)
  await files.put(ours, 'a', text('a'))
  assert.equal(await values.get(ours, 'a'), undefined)
  assert.equal(await filesOf(ours), 1)
})

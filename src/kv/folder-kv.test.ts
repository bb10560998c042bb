import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { BLOCK, type KvGiven, keysIn, kvSuite, text } from '../../test/suites/kv.ts'
import { handClock } from '../../test/support/clock.ts'
import { type Scope, temporaryFolder } from '../../test/support/folder.ts'
import { noSmallDisk, smallDisk } from '../../test/support/machine/small-disk.ts'
import { createFolderKv } from './folder-kv.ts'

const [OURS, THEIRS] = ['ours', 'theirs']

async function open(t: Scope, { blocks = 4, top, ...given }: KvGiven & { top?: string } = {}) {
  const folder = top ?? (await temporaryFolder(t))
  const clock = handClock()
  const start = () =>
    createFolderKv({ clock, folderOf: (id) => join(folder, id), limits: { totalBytes: blocks * BLOCK }, ...given })
  return { folder, clock, values: start(), start, ours: OURS, theirs: THEIRS }
}

kvSuite('a folder', open)

test('a key with dots and slashes makes no file elsewhere', async (t) => {
  const { folder, values } = await open(t)
  await values.put(OURS, '../../../outside', text('a'))
  assert.deepEqual(await readdir(folder), [OURS])
  assert.match((await readdir(join(folder, OURS))).join(), /^[0-9a-f]{64}$/)
  assert.equal((await stat(join(folder, OURS))).mode & 0o777, 0o700)
})

test('the order of use is exact while the process runs', async (t) => {
  const { values, folder } = await open(t)
  for (const key of 'abcd') await values.put(OURS, key, text(key))
  await values.get(OURS, 'a')
  await values.put(OURS, 'e', text('e'))
  assert.equal(await keysIn(values, OURS, 'abcde'), 'acde')
  assert.equal((await readdir(join(folder, OURS))).length, 4)
})

test('a value that a crash left half written is not found, and takes no space', async (t) => {
  const { values, folder, start } = await open(t)
  for (const key of 'abcd') await values.put(OURS, key, text(key))
  const names = await readdir(join(folder, OURS))
  const files = names.map((name) => join(folder, OURS, name))
  await truncate(files[0] as string, 50)
  await truncate(files[1] as string, 0)
  const changed = await readFile(files[2] as string)
  changed[60] = (changed[60] as number) ^ 1
  await writeFile(files[2] as string, changed)
  await writeFile(join(folder, OURS, 'some.new'), 'a draft')

  const next = start()
  const found = await Promise.all([...'abcd'].map((key) => next.get(OURS, key)))
  assert.equal(found.filter((value) => value !== undefined).length, 1)
  assert.equal((await readdir(join(folder, OURS))).length, 1)
  for (const key of 'efg') await next.put(OURS, key, text(key))
  assert.equal((await keysIn(next, OURS, 'abcdefg')).length, 4)
})

test('a value that does not fit on the disk leaves the old one and no draft', {
  skip: noSmallDisk ?? false,
}, async (t) => {
  const disk = await smallDisk(t, 2)
  const { values } = await open(t, { blocks: 1000, top: disk.folder })
  await mkdir(join(disk.folder, OURS))
  await values.put(OURS, 'a', text('old'))
  await writeFile(join(disk.folder, 'spare'), text('r', 40_000))
  await disk.fill()
  await rm(join(disk.folder, 'spare'))
  await assert.rejects(values.put(OURS, 'a', text('n', 100_000)), { code: 'ENOSPC' })
  assert.deepEqual(await values.get(OURS, 'a'), text('old'))
  assert.equal((await readdir(join(disk.folder, OURS))).length, 1)
  await disk.free()
  await values.put(OURS, 'a', text('n', 100_000))
  assert.deepEqual(await values.get(OURS, 'a'), text('n', 100_000))
})

test('the order of unused namespaces is not kept in memory, and their values are found again', async (t) => {
  const { values, clock } = await open(t)
  for (let number = 0; number < 200; number++) {
    await values.put(`environment ${number}`, 'a', text('a'))
    await clock.advance(1000)
  }
  assert.deepEqual(await values.get('environment 0', 'a'), text('a'))
})

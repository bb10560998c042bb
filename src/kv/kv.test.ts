import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { type Scope, temporaryFolder } from '../../test/support/folder.ts'
import { noSmallDisk, smallDisk } from '../../test/support/machine/small-disk.ts'
import { createKv } from './kv.ts'

const [OURS, THEIRS] = ['ours', 'theirs']
const BLOCK = 4096
/** One block with its head. */
const text = (letter: string, length = 100): Buffer => Buffer.from(letter.repeat(length))

type AdmitGrowth = Parameters<typeof createKv>[0]['admitGrowth']
type Given = { blocks?: number; top?: string; admitGrowth?: AdmitGrowth }

async function open(t: Scope, { blocks = 4, top, admitGrowth = async () => true }: Given = {}) {
  const folder = top ?? (await temporaryFolder(t))
  const clock = handClock()
  const start = () =>
    createKv({ clock, folderOf: (id) => join(folder, id), limits: { totalBytes: blocks * BLOCK }, admitGrowth })
  const values = start()
  const keysThere = async (keys: string, from = values) => {
    const found = await Promise.all([...keys].map(async (key) => ((await from.bytesOf(OURS, key)) ? key : '')))
    return found.join('')
  }
  return { folder, clock, values, start, keysThere }
}

test('a value is found under its key, whatever the key, and in no other environment', async (t) => {
  const { values } = await open(t)
  for (const key of ['.atlas/b/next/blog/%C3%A4%20?x=1&y', '../../escape', 'a'.repeat(4096), '', 'A', 'a']) {
    assert.equal(await values.get(OURS, key), undefined, key)
    await values.put(OURS, key, Buffer.from(`"${key}"`))
    assert.equal(String(await values.get(OURS, key)), `"${key}"`)
    assert.equal(await values.get(THEIRS, key), undefined)
  }
})

test('a key with dots and slashes makes no file elsewhere', async (t) => {
  const { folder, values } = await open(t)
  await values.put(OURS, '../../../outside', text('a'))
  assert.deepEqual(await readdir(folder), [OURS])
  assert.match((await readdir(join(folder, OURS))).join(), /^[0-9a-f]{64}$/)
  assert.equal((await stat(join(folder, OURS))).mode & 0o777, 0o700)
})

test('a new value of a key replaces the old one, and only its own size counts', async (t) => {
  const { values, keysThere } = await open(t)
  for (const key of 'abc') await values.put(OURS, key, text(key))
  for (let times = 0; times < 20; times++) await values.put(OURS, 'd', text(String(times % 10)))
  assert.deepEqual(await values.get(OURS, 'd'), text('9'))
  assert.equal(await keysThere('abcd'), 'abcd')
})

test('the least recently used value is removed first', async (t) => {
  const { values, keysThere, folder } = await open(t)
  for (const key of 'abcd') await values.put(OURS, key, text(key))
  await values.get(OURS, 'a')
  await values.put(OURS, 'e', text('e'))
  assert.equal(await keysThere('abcde'), 'acde')
  assert.equal(await values.get(OURS, 'b'), undefined)
  await values.put(OURS, 'big', text('x', 2 * BLOCK))
  assert.equal(await keysThere('abcde'), 'e')
  assert.equal((await readdir(join(folder, OURS))).length, 2)
})

test('many small values are limited by the blocks that they take', async (t) => {
  const { values, folder } = await open(t, { blocks: 10 })
  for (let number = 0; number < 50; number++) await values.put(OURS, `key ${number}`, Buffer.from('1'))
  assert.equal((await readdir(join(folder, OURS))).length, 10)
})

test('one environment that writes much takes nothing from another', async (t) => {
  const { values } = await open(t)
  await values.put(THEIRS, 'a', text('t'))
  for (let number = 0; number < 50; number++) await values.put(OURS, `key ${number}`, text('o'))
  assert.deepEqual(await values.get(THEIRS, 'a'), text('t'))
})

test('after a restart values are found, and are removed in the order of their use', async (t) => {
  const { values, clock, start, keysThere } = await open(t)
  for (const key of 'abcd') {
    await values.put(OURS, key, text(key))
    await clock.advance(1000)
  }
  await clock.advance(60_000)
  await values.get(OURS, 'a')
  const next = start()
  assert.deepEqual(await next.get(OURS, 'd'), text('d'))
  await next.put(OURS, 'e', text('e'))
  await next.put(OURS, 'f', text('f'))
  assert.equal(await keysThere('abcdef', next), 'adef')
})

test('a value that a crash left half written is not found, and takes no space', async (t) => {
  const { values, folder, start, keysThere } = await open(t)
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
  assert.equal((await keysThere('abcdefg', next)).length, 4)
})

test('a read during a write gets the old value or the new one, never a mixture', async (t) => {
  const { values } = await open(t, { blocks: 200 })
  const [old, next] = [text('o', 200_000), text('n', 200_000)]
  await values.put(OURS, 'a', old)
  const reads: Promise<Buffer | undefined>[] = []
  for (let times = 0; times < 10; times++) {
    reads.push(values.get(OURS, 'a'))
    const writing = values.put(OURS, 'a', times % 2 ? old : next)
    reads.push(values.get(OURS, 'a'))
    await writing
  }
  for (const value of await Promise.all(reads)) assert.ok(value?.equals(old) || value?.equals(next))
})

test('writes at once are all counted', async (t) => {
  const { values, folder } = await open(t, { blocks: 10 })
  await Promise.all(Array.from({ length: 60 }, (_, number) => values.put(OURS, `key ${number % 30}`, text('a'))))
  assert.equal((await readdir(join(folder, OURS))).length, 10)
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

test('every write, replacement and removal is counted before it is done', async (t) => {
  const admitted: unknown[] = []
  const { values } = await open(t, {
    blocks: 2,
    async admitGrowth(id, { bytes, files }) {
      admitted.push([id, bytes / BLOCK, files])
      return true
    },
  })
  await values.put(OURS, 'a', text('a'))
  await values.put(OURS, 'a', text('a', BLOCK))
  await values.put(OURS, 'b', text('b'))
  await values.put(OURS, 'b', text('c'))
  assert.deepEqual(admitted, [
    [OURS, 1, 1],
    [OURS, 1, 0],
    // It takes the place of the larger one.
    [OURS, -1, 0],
    [OURS, 0, 0],
  ])
})

test('when the quota is used up, a store continues without growing, and a write to an empty one fails with the reason', async (t) => {
  let isFull = false
  const { values, keysThere, folder } = await open(t, {
    admitGrowth: async (_, { bytes, files }) => !isFull || (bytes <= 0 && files <= 0),
  })
  for (const key of 'ab') await values.put(OURS, key, text(key))
  isFull = true
  await values.put(OURS, 'c', text('c'))
  assert.equal(await keysThere('abc'), 'bc', 'the longest unused went for it')
  await values.put(OURS, 'c', text('d'))
  assert.equal(await keysThere('abc'), 'bc')
  const refused = { name: 'Problem', reason: 'QUOTA_EXCEEDED' }
  await assert.rejects(values.put(OURS, 'large', text('x', 3 * BLOCK)), refused)
  assert.equal(await keysThere('abc'), 'bc', 'nothing goes for what is refused')
  await assert.rejects(values.put(THEIRS, 'a', text('a')), refused)
  assert.equal((await readdir(join(folder, OURS))).length, 2)
  isFull = false
  await values.put(THEIRS, 'a', text('a'))
})

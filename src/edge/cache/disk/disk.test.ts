import assert from 'node:assert/strict'
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { copyAsIfItWereTheSame, openTestDisk } from '../../../../test/support/edge/cache-disk.ts'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { rounds } from '../../../../test/support/long.ts'
import { until } from '../../../../test/support/until.ts'
import type { Place } from './index.ts'

const KIB = 1024
const body = (fill: string, bytes = 3 * KIB) => Buffer.alloc(bytes, fill)
const segmentsIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.segment'))
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))

function placed(place: Place | undefined): Place {
  assert.ok(place)
  return place
}

test('what was put is read at once, once it is written, and by the next process, in its order with the notes', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  const a = placed(disk.put('a', body('a')))
  assert.deepEqual(await disk.read(a), body('a'), 'from memory')
  assert.equal(disk.note('first'), true)
  assert.deepEqual(await disk.read(a), body('a'), 'from the file')
  const big = Buffer.alloc(700 * KIB, 'big')
  const b = placed(disk.put('b, with an umlaut: ü', big))
  const empty = placed(disk.put('empty', Buffer.alloc(0)))
  assert.deepEqual(await disk.read(b), big)
  assert.deepEqual(await disk.read(empty), Buffer.alloc(0))
  await disk.close()
  assert.equal(disk.put('late', body('l')), undefined)
  assert.equal(await disk.read(a), undefined)

  const next = await openTestDisk(t, { folder })
  assert.deepEqual(next.replayed, ['put a', 'note first', 'put b, with an umlaut: ü', 'put empty'])
  assert.deepEqual(next.places.get('a'), a)
  assert.deepEqual(await next.read(a), body('a'))
  assert.deepEqual(await next.read(b), big)
  assert.deepEqual(await next.read(empty), Buffer.alloc(0))
  assert.equal(next.bytes(), disk.bytes())
  assert.deepEqual([...disk.reports, ...next.reports], [])
})

test('the caller may use its buffer again at once', async (t) => {
  const disk = await openTestDisk(t, { folder: await temporaryFolder(t) })
  const own = body('1')
  const place = placed(disk.put('a', own))
  own.fill('2')
  assert.deepEqual(await disk.read(place), body('1'))
  disk.note('n')
  assert.deepEqual(await disk.read(place), body('1'))
})

test('a note is in the file when it returns, with all that came before it, while a write is in flight', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  const expected: string[] = []
  for (let round = 0; round < 20; round++) {
    for (let n = 0; n < 40; n++) {
      disk.put(`${round}/${n}`, body('x', 20 * KIB))
      expected.push(`put ${round}/${n}`)
    }
    disk.note(`${round}`)
    expected.push(`note ${round}`)
    const copy = join(await temporaryFolder(t), 'copy')
    copyAsIfItWereTheSame(folder, copy)
    const found = await openTestDisk(t, { folder: copy })
    assert.deepEqual(found.replayed, expected)
    assert.deepEqual(await found.read(placed(found.places.get(`${round}/39`))), body('x', 20 * KIB))
    assert.deepEqual(found.reports, [])
    await found.close()
  }
})

test('an incomplete record at the end is cut off, wherever it ends, and the log continues there', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  const operations = ['put a', 'put b', 'note n', 'put c']
  for (const operation of operations) {
    if (operation.startsWith('put')) disk.put(operation.slice(4), body(operation, 40))
    else disk.note(operation.slice(5))
  }
  await disk.close()
  const [name = ''] = segmentsIn(folder)
  const whole = statSync(join(folder, name)).size
  const top = await temporaryFolder(t)
  const counts = new Set<number>()
  for (let bytes = 0; bytes <= whole; bytes += rounds({ short: 6, long: 3 })) {
    const copy = join(top, String(bytes))
    copyAsIfItWereTheSame(folder, copy)
    writeFileSync(join(copy, name), readFileSync(join(folder, name)).subarray(0, bytes))
    const torn = await openTestDisk(t, { folder: copy })
    const count = torn.replayed.length
    assert.deepEqual(torn.replayed, operations.slice(0, count), `${bytes} bytes`)
    assert.deepEqual(torn.reports, [])
    counts.add(count)
    torn.put('next', body('next'))
    torn.note('last')
    await torn.close()
    const again = await openTestDisk(t, { folder: copy })
    assert.deepEqual(again.replayed, [...operations.slice(0, count), 'put next', 'note last'], `${bytes} bytes`)
    await again.close()
  }
  assert.deepEqual([...counts], [0, 1, 2, 3])
})

/** How many bytes lie between those that are damaged, one at a time. */
const STEP = rounds({ short: 41, long: 13 })

test('wherever a byte is damaged, nothing that was purged comes back', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder, segmentBytes: 800 })
  // Each key is put twice: the first one is purged later, at some distance.
  for (let n = 0; n < 12; n++) {
    disk.put(`old-${n}`, body('o', 60))
    if (n >= 2) disk.note(`old-${n - 2}`)
    disk.put(`new-${n}`, body('n', 60))
  }
  disk.note('old-10')
  disk.note('old-11')
  await disk.close()
  const names = segmentsIn(folder)
  assert.ok(names.length >= 4)
  const top = await temporaryFolder(t)
  let max = 0
  let fewest = Number.POSITIVE_INFINITY
  for (const name of names) {
    const content = readFileSync(join(folder, name))
    for (let at = 0; at < content.length; at += STEP) {
      const copy = join(top, `${name}-${at}`)
      copyAsIfItWereTheSame(folder, copy)
      const damaged = Buffer.from(content)
      damaged[at] = (damaged[at] ?? 0) ^ 0x10
      writeFileSync(join(copy, name), damaged)
      const left = await openTestDisk(t, { folder: copy, segmentBytes: 800 })
      const served: string[] = []
      for (const [meta, place] of left.places) {
        if (left.replayed.includes(`note ${meta}`) || !left.isThere(place)) continue
        const read = await left.read(place)
        if (read) served.push(meta)
        if (read) assert.deepEqual(read, body(meta.slice(0, 1), 60))
      }
      assert.deepEqual(
        served.filter((meta) => meta.startsWith('old')),
        [],
        `${name} at ${at}`,
      )
      assert.ok(left.reports.length <= 1, `${name} at ${at}: ${left.reports}`)
      if (left.reports.length === 0) assert.equal(served.length, 12)
      max = Math.max(max, served.length)
      fewest = Math.min(fewest, served.length)
      await left.close()
      rmSync(copy, { recursive: true })
    }
  }
  assert.equal(max, 12, 'damage in a body that is not read costs nothing')
  assert.equal(fewest, 0, 'damage in the newest segment costs everything')
})

test('a segment that is missing takes everything older with it', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  for (let n = 0; n < 12; n++) disk.put(String(n), body('x'))
  await disk.close()
  const names = segmentsIn(folder)
  rmSync(join(folder, names[2] ?? ''))
  const next = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  assert.deepEqual(next.replayed, ['put 6', 'put 7', 'put 8', 'put 9', 'put 10', 'put 11'])
  await next.close()
  assert.deepEqual(segmentsIn(folder), names.slice(3))
})

test('a segment that ends too early, though another one follows it, is damage', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  for (let n = 0; n < 8; n++) disk.put(String(n), body('x'))
  await disk.close()
  const [, second = ''] = segmentsIn(folder)
  const { size } = statSync(join(folder, second))
  const top = await temporaryFolder(t)
  // In the middle of its last record, just before it, and all of it.
  for (const bytes of [size - 1, size - (28 + 1 + 3 * KIB), 0]) {
    const copy = join(top, String(bytes))
    copyAsIfItWereTheSame(folder, copy)
    truncateSync(join(copy, second), bytes)
    const left = await openTestDisk(t, { folder: copy, segmentBytes: 8 * KIB })
    const there = [...left.places].filter(([, place]) => left.isThere(place)).map(([meta]) => meta)
    assert.deepEqual(there, ['4', '5', '6', '7'])
    assert.equal(left.reports.length, 1)
    await left.close()
  }
})

test('after another boot of the machine the folder is empty', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  disk.put('a', body('a'))
  await disk.close()
  const same = await openTestDisk(t, { folder })
  assert.deepEqual(same.replayed, ['put a'])
  await same.close()
  const other = await openTestDisk(t, { folder, bootId: 'boot-2' })
  assert.deepEqual(other.replayed, [])
  assert.equal(other.bytes(), 0)
  await other.close()
  assert.deepEqual(readdirSync(folder), ['valid'])
  const back = await openTestDisk(t, { folder, bootId: 'boot-1' })
  assert.deepEqual(back.replayed, [])
})

test('a copy of the folder is not used: it lacks the purges since then', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  disk.put('a', body('a'))
  disk.note('n')
  const copy = join(await temporaryFolder(t), 'copy')
  cpSync(folder, copy, { recursive: true })
  assert.deepEqual((await openTestDisk(t, { folder: copy })).replayed, [])
  // Also not when it is put back into the folder that it was made from.
  const backup = join(await temporaryFolder(t), 'backup')
  cpSync(folder, backup, { recursive: true })
  await disk.close()
  for (const name of readdirSync(folder)) rmSync(join(folder, name))
  cpSync(backup, folder, { recursive: true })
  assert.deepEqual((await openTestDisk(t, { folder })).replayed, [])
})

test('the oldest segment is dropped when there is too much, and its places with it', async (t) => {
  const folder = await temporaryFolder(t)
  const bounds = { folder, maxBytes: 256 * KIB, segmentBytes: 32 * KIB }
  const disk = await openTestDisk(t, bounds)
  const places: Place[] = []
  for (let n = 0; n < 300; n++) {
    places.push(placed(disk.put(String(n), body(String(n)))))
    assert.ok(disk.bytes() <= bounds.maxBytes)
    if (n % 20 === 0) await new Promise(setImmediate)
  }
  const there = places.filter((place) => disk.isThere(place))
  assert.ok(there.length > 60 && there.length < 90, `${there.length} are there`)
  assert.deepEqual(there, places.slice(-there.length))
  for (const [n, place] of places.entries()) {
    assert.deepEqual(await disk.read(place), disk.isThere(place) ? body(String(n)) : undefined)
  }
  await disk.close()
  const onDisk = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  assert.ok(onDisk <= bounds.maxBytes + KIB, `${onDisk} bytes on the disk`)

  const next = await openTestDisk(t, bounds)
  assert.deepEqual([...next.places.values()], there)
  await next.close()
  const smaller = await openTestDisk(t, { ...bounds, maxBytes: 100 * KIB })
  assert.ok(smaller.bytes() <= 100 * KIB && smaller.bytes() > 50 * KIB)
  await smaller.close()
  const nothing = await openTestDisk(t, { ...bounds, maxBytes: 0 })
  assert.equal(nothing.put('x', body('x')), undefined)
  assert.equal(nothing.bytes(), 0)
})

test('a dropped segment may take notes with it: those that they concern are gone already', async (t) => {
  const folder = await temporaryFolder(t)
  const bounds = { folder, maxBytes: 64 * KIB, segmentBytes: 8 * KIB }
  const disk = await openTestDisk(t, bounds)
  const purged = new Set<string>()
  let shown = 0
  let hidden = 0
  let replayedNotes = 0
  for (let n = 0; n < 200; n++) {
    disk.put(`${n}`, body('x', KIB))
    // Purged at once, soon, later, or when the segment of the object is long dropped.
    for (const earlier of [n, n - 3, n - 30, n - 150]) {
      if (earlier < 0 || earlier % 5 !== n % 4) continue
      disk.note(`${earlier}`)
      purged.add(`${earlier}`)
    }
    if (n % 5 !== 0) continue
    disk.note('to write everything')
    const copy = join(await temporaryFolder(t), 'copy')
    copyAsIfItWereTheSame(folder, copy)
    const { replayed, close } = await openTestDisk(t, { ...bounds, folder: copy })
    for (const [at, line] of replayed.entries()) {
      if (!line.startsWith('put ')) continue
      const isHidden = replayed.includes(line.replace('put', 'note'), at)
      assert.equal(isHidden, purged.has(line.slice(4)), line)
      if (isHidden) hidden++
      else shown++
    }
    replayedNotes = replayed.filter((line) => line.startsWith('note') && line !== 'note to write everything').length
    await close()
  }
  assert.ok(shown > 100 && hidden > 100, `${shown} were shown and ${hidden} hidden`)
  assert.ok(replayedNotes < purged.size / 2, `${replayedNotes} notes are left of ${purged.size}`)
})

test('a note counts also for what was dropped and is not yet removed', async (t) => {
  const folder = await temporaryFolder(t)
  const bounds = { folder, maxBytes: 64 * KIB, segmentBytes: 32 * KIB }
  const disk = await openTestDisk(t, bounds)
  const place = placed(disk.put('a', body('a')))
  disk.note('written')
  const copy = join(await temporaryFolder(t), 'copy')
  // From here to the copy nothing else runs: the files are all there.
  const writers = Array.from({ length: 4 }, () => disk.openLarge())
  for (const writer of writers) writer?.write(body('l', 15.5 * KIB))
  assert.equal(disk.isThere(place), false)
  disk.note('a')
  copyAsIfItWereTheSame(folder, copy)
  for (const writer of writers) writer?.abort()
  const { replayed } = await openTestDisk(t, { ...bounds, folder: copy })
  assert.ok(!replayed.includes('put a') || replayed.includes('note a'), replayed.join(', '))
})

test('there are never too many files open, however small the segments are', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder, segmentBytes: 1024 })
  for (let n = 0; n < 1100; n++) {
    placed(disk.put(String(n), body('x', 450)))
    if (n % 100 === 0) disk.note('to write everything')
  }
  await disk.close()
  assert.equal(segmentsIn(folder).length, 1024)
  const next = await openTestDisk(t, { folder, segmentBytes: 1024 })
  assert.ok(next.replayed.length >= 1024)
  assert.equal(next.replayed.at(-1), 'put 1099')
})

test('two processes that have the folder open do no harm: the newer one counts, and a purge by the older one empties it', async (t) => {
  const folder = await temporaryFolder(t)
  const older = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  older.put('a', body('a'))
  older.note('n')
  const newer = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  assert.deepEqual(newer.replayed, ['put a', 'note n'])
  // Goes into the segment that it still has open, then into none.
  for (let n = 0; n < 10; n++) older.put(`older-${n}`, body('o'))
  await until(() => older.reports.length === 1)
  assert.match(String(older.reports), /taken over/)
  newer.put('b', body('b'))
  newer.note('m')
  const third = await openTestDisk(t, { folder })
  assert.deepEqual(third.replayed, ['put a', 'note n', 'put b', 'note m'])
  assert.deepEqual(await third.read(placed(third.places.get('a'))), body('a'))

  assert.equal(older.note('a purge that the others do not know of'), true)
  const fourth = await openTestDisk(t, { folder })
  assert.deepEqual(fourth.replayed, [])
})

test('a note after closing still counts', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  disk.put('a', body('a'))
  await disk.close()
  assert.equal(disk.note('late'), true)
  assert.deepEqual((await openTestDisk(t, { folder })).replayed, [])
})

test('a note that is too long to be kept makes the disk forget everything', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder, pauseMs: 0 })
  const place = placed(disk.put('a', body('a')))
  assert.equal(disk.note('x'.repeat(300 * KIB)), true)
  assert.equal(disk.reports.length, 1)
  assert.equal(disk.isThere(place), false)
  disk.put('b', body('b'))
  disk.note('n')
  await disk.close()
  assert.deepEqual((await openTestDisk(t, { folder })).replayed, ['put b', 'note n'])
})

test('an object that the callback refuses at recovery counts as damage', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  for (let n = 0; n < 6; n++) disk.put(String(n), body('x'))
  await disk.close()
  const places: Place[] = []
  const next = await openTestDisk(t, {
    folder,
    segmentBytes: 8 * KIB,
    onPut(place, meta) {
      if (meta === '3') throw new Error('what is this?')
      places.push(place)
    },
  })
  assert.deepEqual(
    places.map((place) => next.isThere(place)),
    [false, false, false, true, true],
  )
  assert.match(String(next.reports), /what is this/)
})

test('a folder that was emptied from outside is used again', async (t) => {
  const folder = join(await temporaryFolder(t), 'deep', 'cache')
  const disk = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  const first = placed(disk.put('a', body('a')))
  disk.note('n')
  rmSync(folder, { recursive: true })
  assert.deepEqual(await disk.read(first), body('a'))
  for (let n = 0; n < 5; n++) disk.put(String(n), body('x'))
  assert.equal(disk.isThere(first), false)
  disk.note('m')
  const next = await openTestDisk(t, { folder })
  assert.deepEqual(next.replayed.slice(-2), ['put 4', 'note m'])
  assert.ok(!next.replayed.includes('put a'))
  assert.deepEqual(disk.reports, [])
})

test('other users cannot read it', async (t) => {
  const folder = await temporaryFolder(t)
  chmodSync(folder, 0o755)
  const before = process.umask(0)
  t.after(() => process.umask(before))
  const disk = await openTestDisk(t, { folder })
  disk.put('a', body('a'))
  disk.note('n')
  const writer = disk.openLarge()
  await writer?.write(body('large'))
  await writer?.finish('large')
  const modes = readdirSync(folder).map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8))
  assert.equal((statSync(folder).mode & 0o777).toString(8), '700')
  assert.deepEqual(modes, ['600', '600', '600'])
})

test('what is too large is not kept, and nothing is lost by it', async (t) => {
  const disk = await openTestDisk(t, { folder: await temporaryFolder(t), maxBytes: 256 * KIB, segmentBytes: 32 * KIB })
  const place = placed(disk.put('a', body('a')))
  assert.equal(disk.put('b', body('b', 33 * KIB)), undefined)
  assert.equal(disk.put('m'.repeat(300 * KIB), body('m')), undefined)
  assert.deepEqual(await disk.read(place), body('a'))
  assert.deepEqual(disk.reports, [])
})

test('puts that the disk cannot keep up with are not kept, instead of filling the memory', async (t) => {
  const disk = await openTestDisk(t, { folder: await temporaryFolder(t) })
  const big = body('x', 1024 * KIB)
  // Nothing is written before this function waits for something.
  const kept = Array.from({ length: 40 }, (_, n) => disk.put(String(n), big)).filter((place) => place !== undefined)
  assert.ok(kept.length >= 4 && kept.length < 10, `${kept.length} were kept`)
  for (const place of kept) assert.deepEqual(await disk.read(place), big)
  await until(() => disk.put('again', big) !== undefined)
})

test('the oldest segments are dropped when all their objects are forgotten', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder, segmentBytes: 8 * KIB })
  const places = Array.from({ length: 7 }, (_, n) => placed(disk.put(String(n), body('x'))))
  const [first, second, third, fourth] = places.map((place) => ({ ...place }))
  assert.ok(first && second && third && fourth)
  // The second segment: the first one is still asked for, and its notes may be there.
  disk.forget(third)
  disk.forget(fourth)
  disk.forget(first)
  disk.forget(first)
  assert.ok(places.every((place) => disk.isThere(place)))
  disk.forget(second)
  assert.deepEqual(
    places.map((place) => disk.isThere(place)),
    [false, false, false, false, true, true, true],
  )
  await disk.close()
  assert.equal(segmentsIn(folder).length, 2)
})

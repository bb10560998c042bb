/** The disk of the edge's cache, under processes that are killed and disks that are full. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Place } from '../../src/edge/cache/disk/index.ts'
import { currentBoot } from '../../src/edge/cache/disk/marker.ts'
import { openTestDisk } from '../support/edge/cache-disk.ts'
import { bodyOf, random } from '../support/edge/cache-disk-model.ts'
import { temporaryFolder } from '../support/folder.ts'
import { rounds } from '../support/long.ts'
import { noSmallDisk, smallDisk } from '../support/machine/small-disk.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const ROUNDS = rounds({ short: 40, long: 200 })
/** How many processes are killed on the same folder, one after the other. */
const LIVES = 10
const WRITER = fileURLToPath(new URL('../support/edge/cache-disk-writer.ts', import.meta.url))

/** `compiled` is the folder of the processes' compile cache: without it, compiling takes most of their time. */
type Bounds = { maxBytes: number; segmentBytes: number; compiled: string }

test('whenever a process is killed, the next one finds its operations in order, and nothing that was purged', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const next = random(seed)
  const compiled = await temporaryFolder(t)
  const seen = { puts: 0, notes: 0, purged: 0, torn: 0, dropped: 0 }
  for (let round = 0; round < ROUNDS; round += LIVES) {
    // Half of them never drop a segment, so that everything before the last note must be there.
    const isSmall = (round / LIVES) % 2 === 1
    const bounds = { maxBytes: isSmall ? 3 * MIB : 512 * MIB, segmentBytes: isSmall ? 400_000 : 1_000_000 }
    await livesOn(t, await temporaryFolder(t), { ...bounds, compiled }, next, seen)
  }
  t.diagnostic(JSON.stringify(seen))
  assert.ok(seen.puts > 5 * ROUNDS && seen.notes > 2 * ROUNDS && seen.purged > 2 * ROUNDS, 'something was found')
  assert.ok(seen.torn > ROUNDS / 40 && seen.dropped > ROUNDS / 2, 'something was torn off, and something dropped')
})

type Seen = { puts: number; notes: number; purged: number; torn: number; dropped: number }

async function livesOn(t: TestContext, folder: string, bounds: Bounds, next: () => number, seen: Seen) {
  /** Everything that was found after each process; what a later process finds must be a suffix of it. */
  let past: string[] = []
  /** Acknowledged purges: the key, and the first key that was put after the purge. */
  const purges: { purged: string; before: number }[] = []
  let key = 0
  for (let life = 0; life < LIVES; life++) {
    const lines = await live(folder, bounds, next, key)
    const asked = lines.filter((line) => line.startsWith('? ')).map((line) => line.slice(2))
    const done = lines.filter((line) => line.startsWith('! '))
    assert.deepEqual(
      lines.filter((line) => line.startsWith('fault')),
      [],
    )
    const lastNote = done.findLast((line) => line.startsWith('! note'))
    for (const line of done) {
      const [, kind, purged = '', before = '', , isDurable] = line.split(' ')
      if (kind !== 'note') continue
      assert.equal(isDurable, 'true')
      purges.push({ purged, before: Number(before) })
    }
    key = Math.max(key, ...asked.map((line) => (line.startsWith('note') ? 0 : Number(line.split(' ')[1]) + 1)))

    const disk = await openTestDisk(t, { folder, ...bounds, bootId: currentBoot() })
    assert.deepEqual(disk.reports, [])
    const replayed = disk.replayed.map((line) => (line.startsWith('note') ? line : `put ${line.slice(4)}`))
    // A large object is at the position where it was finished; no other operation runs between its start and its end.
    const notKept = new Set(done.filter((line) => line.endsWith('not kept')).map((line) => line.split(' ')[2]))
    const appended = asked.filter((line) => line.startsWith('note') || !notKept.has(line.split(' ')[1]))
    const expected = [...past, ...appended.map((line) => line.replace('large', 'put'))]
    const start = replayed[0] === undefined ? expected.length : expected.indexOf(replayed[0])
    assert.ok(start >= 0, `${replayed[0]} was never requested`)
    assert.deepEqual(replayed, expected.slice(start, start + replayed.length))
    // A note that could not match any object was not written.
    const missing = replayed.length === 0 ? [] : expected.slice(0, start).filter((line) => line.startsWith('put'))
    if (bounds.maxBytes > 100 * MIB) assert.deepEqual(missing, [])
    seen.dropped += missing.length
    if (lastNote) {
      // Whether or not it is in a dropped segment: nothing after it is missing.
      const at = expected.indexOf(lastNote.split(' ').slice(1, -1).join(' '))
      assert.ok(at >= 0)
      assert.ok(start + replayed.length > at, 'the last note that was acknowledged was found')
    }
    if (start + replayed.length < expected.length) seen.torn++

    const shown = new Map(disk.places)
    for (const line of replayed) {
      if (line.startsWith('put ')) continue
      seen.notes++
      const [, purged = '', before = ''] = line.split(' ')
      if (purged !== 'all') shown.delete(purged)
      else for (const meta of shown.keys()) if (Number(meta) < Number(before)) shown.delete(meta)
    }
    for (const { purged, before } of purges) {
      for (const meta of purged === 'all' ? shown.keys() : [purged]) {
        assert.ok(!shown.has(meta) || Number(meta) >= before, `${meta} was purged, and is back`)
      }
    }
    seen.purged += disk.places.size - shown.size
    seen.puts += disk.places.size
    for (const [meta, place] of disk.places) {
      const isThere = disk.isThere(place)
      // Segments above the bound were dropped on open.
      assert.ok(isThere || bounds.maxBytes < 100 * MIB)
      const body = await disk.read(place)
      assert.ok(isThere ? body?.equals(bodyOf(Number(meta))) : body === undefined, `${meta} is as it was put`)
    }
    await disk.close()
    past = replayed
  }
}

/** Runs one process until it is killed; resolves to the lines that it printed. */
async function live(folder: string, { maxBytes, segmentBytes, compiled }: Bounds, next: () => number, key: number) {
  const killsItself = next() < 0.5
  const steps = killsItself ? Math.floor(next() * 120) : -1
  const delayMs = next() * 40
  const seed = Math.floor(next() * 2 ** 31)
  const child = spawn(
    process.execPath,
    [WRITER, folder, ...[seed, key, steps, maxBytes, segmentBytes].map((value) => String(value))],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { NODE_COMPILE_CACHE: compiled } },
  )
  const exited = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
  if (!killsItself) child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), delayMs))
  const output = await text(child.stdout)
  assert.equal(await exited, 'SIGKILL')
  // The last line may be incomplete, too.
  return output.split('\n').slice(1, -1)
}

test('a full disk costs puts and one report, and is used again once it has free space', {
  skip: noSmallDisk,
}, async (t) => {
  const small = await smallDisk(t, 8)
  const folder = join(small.folder, 'cache')
  const disk = await openTestDisk(t, { folder, segmentBytes: MIB, pauseMs: 0 })
  const before = disk.put('before', Buffer.alloc(50_000, 'before'))
  assert.ok(before)
  disk.note('n')
  await small.fill()
  const lost: (Place | undefined)[] = []
  for (let round = 0; round < 20; round++) {
    for (let n = 0; n < 20; n++) lost.push(disk.put('lost', Buffer.alloc(100_000)))
    const writer = disk.openLarge()
    for (let n = 0; n < 20; n++) await writer?.write(Buffer.alloc(100_000))
    assert.equal(await writer?.finish('lost'), undefined)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await until(() => lost.every((place) => !place || !disk.isThere(place)))
  assert.ok(lost.some((place) => place?.segment === before.segment))
  assert.ok(lost.some((place) => place && place.segment > before.segment))
  for (const place of lost) assert.equal(place && (await disk.read(place)), undefined)
  assert.equal(disk.reports.length, 1, disk.reports.join('\n'))
  assert.match(String(disk.reports), /ENOSPC/)
  assert.deepEqual(await disk.read(before), Buffer.alloc(50_000, 'before'))
  await small.free()
  await until(() => {
    const place = disk.put('after', Buffer.alloc(1000, 'after'))
    return place !== undefined && disk.note('m')
  })
  assert.equal(disk.isThere(before), true)
  await disk.close()
  const next = await openTestDisk(t, { folder, segmentBytes: MIB })
  assert.deepEqual(next.reports, [])
  assert.deepEqual(next.replayed.slice(0, 2), ['put before', 'note n'])
  assert.deepEqual(next.replayed.slice(-2), ['put after', 'note m'])
  assert.ok(next.places.get('after'))
  for (const place of next.places.values()) assert.ok(await next.read(place))
})

test('after a failed write nothing is kept for a while, but notes are', { skip: noSmallDisk }, async (t) => {
  const small = await smallDisk(t, 8)
  const folder = join(small.folder, 'cache')
  const disk = await openTestDisk(t, { folder, pauseMs: 60_000 })
  disk.put('before', Buffer.alloc(50_000))
  disk.note('n')
  await small.fill()
  const lost = disk.put('lost', Buffer.alloc(300_000))
  assert.ok(lost)
  await until(() => !disk.isThere(lost))
  await small.free()
  assert.equal(disk.put('too early', Buffer.alloc(10)), undefined)
  assert.equal(disk.openLarge(), undefined)
  assert.equal(disk.note('m'), true)
  assert.deepEqual((await openTestDisk(t, { folder })).replayed, ['put before', 'note n', 'note m'])
})

test('a purge on a full disk empties the cache, and the next process finds nothing', {
  skip: noSmallDisk,
}, async (t) => {
  const small = await smallDisk(t, 8)
  const folder = join(small.folder, 'cache')
  const disk = await openTestDisk(t, { folder, segmentBytes: MIB, pauseMs: 0 })
  const places = Array.from({ length: 40 }, (_, n) => disk.put(String(n), Buffer.alloc(50_000)))
  disk.note('n')
  await small.fill()
  // A page that is partly written has space for some notes.
  for (let n = 0; places.some((place) => place && disk.isThere(place)); n++) {
    assert.ok(n < 1000)
    assert.equal(disk.note(`a note that takes a little space: ${'x'.repeat(100)}`), true)
  }
  assert.equal(disk.bytes(), 0)
  assert.equal(disk.reports.length, 1)
  const next = await openTestDisk(t, { folder })
  assert.deepEqual(next.replayed, [])
  await until(() => readdirSync(folder).every((name) => !name.endsWith('.segment')))
})

test('an edge that starts on a full disk does without it, and a later one uses it', {
  skip: noSmallDisk,
}, async (t) => {
  const small = await smallDisk(t, 8)
  const folder = join(small.folder, 'cache')
  const first = await openTestDisk(t, { folder, pauseMs: 0 })
  first.put('a', Buffer.alloc(50_000))
  await first.close()
  await small.fill()
  const full = await openTestDisk(t, { folder, pauseMs: 0 })
  assert.match(String(full.reports), /ENOSPC/)
  for (const place of full.places.values()) assert.equal(full.isThere(place), false)
  assert.equal(full.note('n'), true)
  await small.free()
  await until(() => full.put('b', Buffer.alloc(1000)) !== undefined)
  assert.equal(full.note('m'), true)
  assert.deepEqual((await openTestDisk(t, { folder })).replayed.slice(-2), ['put b', 'note m'])
})

test('a purge that can neither be written nor replaced by emptying the cache fails, until it can', {
  skip: noSmallDisk,
}, async (t) => {
  const small = await smallDisk(t, 8)
  const folder = join(small.folder, 'cache')
  const disk = await openTestDisk(t, { folder, pauseMs: 20 })
  disk.put('a', Buffer.alloc(50_000))
  disk.note('n')
  // Something that can be neither removed nor emptied.
  rmSync(join(folder, 'valid'))
  mkdirSync(join(folder, 'valid', 'in-the-way'), { recursive: true })
  await small.fill()
  let isDurable = true
  for (let n = 0; isDurable; n++) {
    assert.ok(n < 1000)
    isDurable = disk.note('x'.repeat(100))
  }
  assert.equal(disk.note('again'), false)
  assert.equal(disk.put('b', Buffer.alloc(10)), undefined)
  assert.equal(disk.openLarge(), undefined)
  await small.free()
  rmdirSync(join(folder, 'valid', 'in-the-way'))
  rmdirSync(join(folder, 'valid'))
  await until(() => disk.put('c', Buffer.alloc(10)) !== undefined)
  assert.equal(disk.note('m'), true)
  assert.deepEqual((await openTestDisk(t, { folder })).replayed.slice(-2), ['put c', 'note m'])
})

import assert from 'node:assert/strict'
import { closeSync, readdirSync, readSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Opened, openTestDisk } from '../../../../test/support/edge/cache-disk.ts'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { until } from '../../../../test/support/until.ts'
import type { OpenPart } from '../../http/send-part.ts'

const MIB = 1024 * 1024
const PATTERN = Buffer.alloc(
  5 * MIB,
  Uint8Array.from({ length: 251 }, (_, n) => n),
)
const pattern = (bytes: number) => PATTERN.subarray(0, bytes)
const largeIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.large'))

function readOf(part: OpenPart | undefined): Buffer {
  assert.ok(part)
  const body = Buffer.alloc(part.end - part.start)
  assert.equal(readSync(part.descriptor, body, 0, body.length, part.start), body.length)
  closeSync(part.descriptor)
  return body
}

async function keep(disk: Pick<Opened, 'openLarge'>, meta: string, content: Buffer) {
  const writer = disk.openLarge()
  assert.ok(writer)
  for (let at = 0; at < content.length; at += 65_536) await writer.write(content.subarray(at, at + 65_536))
  const place = await writer.finish(meta)
  assert.ok(place)
  return place
}

test('a large object is read by ranges, also by the next process', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  const content = pattern(3 * MIB + 17)
  const place = await keep(disk, 'video', content)
  assert.equal(place.bodyBytes, content.length)
  disk.note('after')
  const next = await openTestDisk(t, { folder })
  assert.deepEqual(next.replayed, ['put video', 'note after'])
  assert.deepEqual(next.places.get('video'), place)
  assert.equal(next.bytes(), disk.bytes())
  for (const reader of [disk, next]) {
    for (const [start, end] of [
      [0, content.length],
      [0, 1],
      [1_000_000, 2_000_001],
      [content.length - 1, content.length],
      [5, 5],
    ] as const) {
      assert.ok(
        readOf(reader.openLargePart(place, start, end)).equals(content.subarray(start, end)),
        `${start} to ${end}`,
      )
    }
    assert.deepEqual(await reader.read(place), content)
    assert.throws(() => reader.openLargePart(place, 0, content.length + 1), RangeError)
    assert.throws(() => reader.openLargePart(place, 2, 1), RangeError)
    assert.throws(() => reader.openLargePart(place, -1, 1), RangeError)
  }
})

test('a writer that is faster than the disk has to wait', async (t) => {
  const disk = await openTestDisk(t, { folder: await temporaryFolder(t) })
  const writer = disk.openLarge()
  assert.ok(writer)
  const chunk = pattern(65_536)
  let waits = 0
  for (let n = 0; n < 128; n++) {
    let atOnce = 0
    for (;;) {
      const answer: boolean | Promise<boolean> = writer.write(chunk)
      if (typeof answer === 'boolean') {
        assert.equal(answer, true)
        atOnce++
        assert.ok(atOnce < 16, 'half a megabyte waits at most')
        continue
      }
      waits++
      assert.equal(await answer, true)
      break
    }
    if (disk.bytes() > 8 * MIB) break
  }
  assert.ok(waits > 5, `${waits} waits`)
  assert.ok(await writer.finish('x'))
})

test('an object that is given up leaves nothing, and neither does a process that was killed', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  const writer = disk.openLarge()
  assert.ok(writer)
  await writer.write(pattern(MIB))
  assert.equal(disk.bytes(), MIB)
  writer.abort()
  assert.equal(await writer.write(pattern(10)), false)
  assert.equal(await writer.finish('x'), undefined)
  await until(() => largeIn(folder).length === 0)
  assert.equal(disk.bytes(), 0)

  const abandoned = disk.openLarge()
  assert.ok(abandoned)
  for (let n = 0; n < 4; n++) await abandoned.write(pattern(MIB))
  assert.equal(largeIn(folder).length, 1)
  const next = await openTestDisk(t, { folder })
  assert.equal(next.bytes(), 0)
  await until(() => largeIn(folder).length === 0)
  abandoned.abort()
})

test('a large object is removed when it is forgotten, and a read in progress still reaches its end', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  const content = pattern(4 * MIB)
  disk.put('small', Buffer.alloc(100))
  const place = await keep(disk, 'video', content)
  const before = disk.bytes()
  const part = disk.openLargePart(place, 0, content.length)
  disk.forget(place)
  disk.forget(place)
  assert.equal(disk.bytes(), before - content.length)
  assert.equal(disk.isThere(place), false)
  assert.equal(disk.openLargePart(place, 0, 1), undefined)
  assert.equal(await disk.read(place), undefined)
  await until(() => largeIn(folder).length === 0)
  assert.ok(readOf(part).equals(content))
  await disk.close()
  assert.deepEqual((await openTestDisk(t, { folder })).replayed, ['put small'])
})

test('large objects count in the bound, and go with the segment of their record', async (t) => {
  const folder = await temporaryFolder(t)
  const bounds = { folder, maxBytes: 16 * MIB, segmentBytes: 2 * MIB }
  const disk = await openTestDisk(t, bounds)
  const places = []
  for (let n = 0; n < 12; n++) {
    places.push(await keep(disk, String(n), pattern(3 * MIB)))
    assert.ok(disk.bytes() <= bounds.maxBytes)
  }
  assert.deepEqual(
    places.map((place) => disk.isThere(place)),
    places.map((_, n) => n >= 7),
  )
  await until(() => largeIn(folder).length === 5)
  const tooLarge = disk.openLarge()
  assert.ok(tooLarge)
  let isKept: boolean | undefined
  for (let n = 0; n < 8 && isKept !== false; n++) isKept = await tooLarge.write(pattern(MIB))
  assert.equal(isKept, false)
  assert.equal(await tooLarge.finish('x'), undefined)
  await disk.close()
  const next = await openTestDisk(t, bounds)
  assert.ok(next.replayed.length >= 3 && next.bytes() <= bounds.maxBytes)
  assert.deepEqual([...disk.reports, ...next.reports], [])
})

test('a large file that is missing or too short is not found', async (t) => {
  const folder = await temporaryFolder(t)
  const disk = await openTestDisk(t, { folder })
  const [missing, short, whole] = [
    await keep(disk, 'missing', pattern(MIB)),
    await keep(disk, 'short', pattern(MIB)),
    await keep(disk, 'whole', pattern(MIB)),
  ]
  rmSync(join(folder, missing.large ?? ''))
  truncateSync(join(folder, short.large ?? ''), 1000)
  assert.equal(disk.openLargePart(missing, 0, 10), undefined)
  assert.equal(disk.openLargePart(short, 0, MIB), undefined)
  await disk.close()
  writeFileSync(join(folder, 'not-ours.txt'), 'stays')
  const next = await openTestDisk(t, { folder })
  assert.deepEqual(next.replayed, ['put whole'])
  assert.ok((await next.read(whole))?.equals(pattern(MIB)))
  await next.close()
  assert.deepEqual(largeIn(folder), [whole.large])
  assert.ok(readdirSync(folder).includes('not-ours.txt'))
})

/** Small backups that expand: disk, memory and names have limits, and anything beyond is refused before it is used. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { constants, createZstdCompress, zstdCompressSync } from 'node:zlib'
import { temporaryFolder } from '../../test/support/folder.ts'
import { assertRefused, attempt, type Backup, makeBackup, pieces, plain } from '../../test/support/modules/backup.ts'
import { openSqliteApart } from '../storage/sql/sqlite.ts'
import { padding } from '../tar/index.ts'
import type { BackupEntry } from './entry.ts'
import { createFreeSpace, type Free, RESERVE_BYTES } from './restore/free-space.ts'
import { checkBackup } from './restore/restore.ts'
import { createUnpacker } from './restore/unpack.ts'
import { bytesOf, headerOf } from './tar.ts'

let made: Backup
const ends: (() => unknown)[] = []
after(() => Promise.all(ends.map((end) => end())))
before(async () => {
  made = await makeBackup({ after: (end) => ends.push(end) })
})

const folder = (path: string): BackupEntry => ({ ...plain(path), kind: 'folder', mode: 0o755 })

/** The beginning of a real backup, and then a file of a petabyte. */
function bomb(): Buffer {
  const [head] = made.entries
  assert.ok(head)
  const large = { ...plain(`blobs/aa/${'a'.repeat(64)}`), size: 2 ** 50 }
  return Buffer.concat([
    headerOf(head.entry),
    head.body,
    padding(head.entry.size),
    ...[folder('blobs'), folder('blobs/aa'), large].map(headerOf),
    Buffer.alloc(16 * 1024 * 1024),
  ])
}

test('a file that is larger than the disk is refused before any of it is written', async (t) => {
  for (const tar of [bomb(), zstdCompressSync(bomb())]) {
    const { top, done } = await attempt(t, tar, { key: made.key })
    await assert.rejects(
      done,
      /There is not enough space in .*: the backup goes on with a file of 1125899906842624 bytes/,
    )
    assert.deepEqual(await readdir(top), [])
  }
})

test('a check of something endless ends when it is interrupted', async () => {
  const stopping = new AbortController()
  let count = 0
  async function* endless() {
    yield bomb()
    for (;;) {
      if (++count === 20) stopping.abort(new Error('enough'))
      yield Buffer.alloc(1024 * 1024)
    }
  }
  const parts = { keys: { file: '', given: made.key }, openForeignSql: openSqliteApart }
  await assert.rejects(checkBackup(parts, endless(), { signal: stopping.signal }), /enough/)
  assert.ok(count < 25, `${count} pieces were taken after it`)
})

test('a compressed backup that asks for too much memory is refused', async (t) => {
  const params = { [constants.ZSTD_c_windowLog]: 28 }
  // A stream of unknown length needs the whole window.
  const zipped = Buffer.concat(await Readable.from(pieces(made.tar)).compose(createZstdCompress({ params })).toArray())
  await assertRefused(t, zipped, /cannot be unzipped|not a backup/, { key: made.key })
})

test('free space is checked before it is used, and some is left for others', () => {
  const free: Free = { bytes: RESERVE_BYTES + 1024 * 1024, files: 10_002 }
  let looks = 0
  const look = () => {
    looks += 1
    return free
  }
  assert.throws(() => createFreeSpace('/x', look).take(1024 * 1024), /not enough space in \/x/)
  const freeSpace = createFreeSpace('/x', look)
  freeSpace.take(1000)
  freeSpace.take(0)
  // The free space has changed meanwhile: it is read again when the known space is used up.
  assert.throws(() => {
    for (let count = 0; count < 1_000_000; count++) {
      free.files = 10_000
      freeSpace.take(0)
    }
  }, /not enough space/)
  assert.ok(looks < 5, `${looks} looks`)
})

test('more entries, or longer names, than any data folder has are refused', async (t) => {
  const unpackerWith = async (max: { entries: number; nameBytes: number }) =>
    createUnpacker({
      folder: await temporaryFolder(t),
      isWanted: () => false,
      freeSpace: { take: () => undefined },
      max,
    })
  const none = () => pieces(Buffer.alloc(0))
  const many = await unpackerWith({ entries: 2, nameBytes: 1000 })
  await many.take(folder('blobs'), bytesOf(none()))
  await many.take(folder('outputs'), bytesOf(none()))
  await assert.rejects(many.take(folder('packages'), bytesOf(none())), /more entries than any data folder/)
  const long = await unpackerWith({ entries: 1000, nameBytes: 20 })
  await long.take(folder('packages'), bytesOf(none()))
  await assert.rejects(long.take(folder(`packages/${'n'.repeat(20)}`), bytesOf(none())), /more entries than any/)
})

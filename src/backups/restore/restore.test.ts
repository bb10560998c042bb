import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { temporaryFolder } from '../../../test/support/folder.ts'
import * as support from '../../../test/support/modules/backup.ts'
import { type Backup, nothing, pieces, plain, type Whole } from '../../../test/support/modules/backup.ts'
import { openSqliteApart } from '../../storage/sql/sqlite.ts'
import { BLOCK, END, padding } from '../../tar/index.ts'
import { HEAD } from '../entry.ts'
import { headerOf } from '../tar.ts'
import { checkBackup, restore } from './restore.ts'
import { writeBackup } from './write-file.ts'

/** A real backup, made once, and the key of its secrets. */
let made: Backup

/** One suite, so that what is made before the first test is there for all of them. */
const ends: (() => unknown)[] = []
after(() => Promise.all(ends.map((end) => end())))

before(async () => {
  made = await support.makeBackup({ after: (end) => ends.push(end) })
})

const packed = (entries: readonly Whole[]): Buffer => support.packed(entries, made.key)

const attempt = (t: TestContext, tar: Buffer) => support.attempt(t, tar, { key: made.key })

const assertRefused = (t: TestContext, tar: Buffer, why: RegExp) =>
  support.assertRefused(t, tar, why, { key: made.key })

test('a backup is restored, and the same by another way of packing', async (t) => {
  for (const tar of [made.tar, zstdCompressSync(made.tar), packed(made.entries)]) {
    const { dataDir, done } = await attempt(t, tar)
    assert.deepEqual((await done).missing, [])
    assert.deepEqual((await readdir(dataDir)).sort(), ['blobs', 'headland.db', 'logs', 'outputs', 'packages'])
  }
})

test('a check reads all of it and writes nothing', async () => {
  const { files, missing } = await checkBackup(
    { keys: { file: '', given: made.key }, openForeignSql: openSqliteApart },
    pieces(made.tar),
  )
  assert.deepEqual([files, missing], [made.entries.length - 2, []])
})

test('a backup that was cut off is recognized, wherever it was cut', async (t) => {
  const { byteLength } = made.tar
  const starts = Array.from({ length: 12 }, (_, at) => Math.floor((byteLength * at) / 12 / BLOCK) * BLOCK)
  for (const end of [1, 100, ...starts.slice(1), byteLength - 2 * BLOCK, byteLength - BLOCK, byteLength - 1])
    await assertRefused(t, made.tar.subarray(0, end), /cut off|not a backup/)
})

test('a compressed backup that was cut off is recognized, too', async (t) => {
  const zipped = zstdCompressSync(made.tar)
  for (const part of [0.3, 0.6, 0.99])
    await assertRefused(
      t,
      zipped.subarray(0, Math.floor(zipped.byteLength * part)),
      /cut off|cannot be unzipped|only the beginning/,
    )
})

test('one bit that is not right is found in every entry: in its header, its bytes and behind them', async () => {
  let at = 0
  for (const { entry } of made.entries) {
    const start = at + headerOf(entry).byteLength
    const places = [at, at + 124, start - 1, ...(entry.size > 0 ? [start, start + entry.size - 1] : [])]
    at = start + Math.ceil(entry.size / BLOCK) * BLOCK
    if (at > start + entry.size) places.push(at - 1)
    for (const place of places) {
      const flipped = Buffer.from(made.tar)
      flipped.writeUInt8((made.tar[place] as number) ^ 1, place)
      const keys = { file: '', given: made.key }
      const checking = checkBackup({ keys, openForeignSql: openSqliteApart }, pieces(flipped))
      await assert.rejects(checking, { name: 'BackupRefused' }, `${entry.path} at ${place - start}`)
    }
  }
  assert.equal(at + END.byteLength, made.tar.byteLength)
})

test('what is broken is named', async (t) => {
  const at = made.tar.lastIndexOf('installed')
  const flipped = Buffer.from(made.tar)
  flipped.write('I', at)
  await assertRefused(t, flipped, /broken: "packages\/[^"]+\/file" is not as it is listed/)
})

test('a database that is damaged is refused, though its digest is right', async (t) => {
  const entries = made.entries.map(({ entry, body }) => {
    if (entry.path !== 'headland.db') return { entry, body }
    const damaged = Buffer.from(body)
    damaged.fill(0xff, 8192, 12_288)
    return { entry, body: damaged }
  })
  await assertRefused(t, packed(entries), /its database cannot be used/)
})

test('a restore without the key, or with another one, is refused before anything is written', async (t) => {
  for (const [given, why] of [
    [undefined, /which is not in the backup\. Give your copy of the key with --key-file/],
    [Buffer.alloc(32, 7).toString('base64'), /and the key that was found is/],
    ['short', /does not hold a master key/],
  ] as const) {
    const top = await temporaryFolder(t)
    const dataDir = join(top, 'data')
    const keys = { file: join(dataDir, 'master.key'), given }
    // The first pieces alone: it is not read any further.
    const start = made.tar.subarray(0, 2048)
    await assert.rejects(restore({ dataDir, keys, openForeignSql: openSqliteApart }, pieces(start)), why)
    assert.deepEqual(await readdir(top), [])
  }
})

test('the key may lie in the folder already, or be named, and is there afterwards', async (t) => {
  const there = join(await temporaryFolder(t), 'data')
  await mkdir(there)
  await writeFile(join(there, 'master.key'), `${made.key}\n`, { mode: 0o600 })
  const own = { file: join(there, 'master.key'), given: undefined }
  await restore({ dataDir: there, keys: own, openForeignSql: openSqliteApart }, pieces(made.tar))
  assert.ok((await readdir(there)).includes('headland.db'))
  assert.equal(await readFile(own.file, 'utf8'), `${made.key}\n`)

  const named = join(await temporaryFolder(t), 'data')
  const keys = { file: join(named, 'master.key'), given: undefined, named: made.keyFile }
  await restore({ dataDir: named, keys, openForeignSql: openSqliteApart }, pieces(made.tar))
  assert.equal(await readFile(keys.file, 'utf8'), `${made.key}\n`)
})

test('a folder that is in use is left as it is', async (t) => {
  const dataDir = await temporaryFolder(t)
  const keys = { file: join(dataDir, 'master.key'), given: made.key }
  for (const [name, why] of [
    ['headland.db', /is not empty\. Stop the service that uses it and move the folder away/],
    ['restoring', /Another restore into .* is at work, or was killed/],
  ] as const) {
    await writeFile(join(dataDir, name), 'mine')
    await assert.rejects(restore({ dataDir, keys, openForeignSql: openSqliteApart }, pieces(made.tar)), why)
    assert.equal(await readFile(join(dataDir, name), 'utf8'), 'mine')
  }
})

test('something that comes into the folder meanwhile is not replaced', async (t) => {
  const dataDir = await temporaryFolder(t)
  const keys = { file: join(dataDir, 'master.key'), given: made.key }
  const onProgress = () => writeFile(join(dataDir, 'headland.db'), 'of a service that was started')
  const done = restore({ dataDir, keys, openForeignSql: openSqliteApart }, pieces(made.tar), { onProgress })
  await assert.rejects(done, /was put into .* meanwhile \(headland\.db\)/)
  assert.deepEqual(await readdir(dataDir), ['headland.db'])
})

test('a backup of a newer Headland, and one in another format, are refused', async (t) => {
  for (const [change, why] of [
    [{ schema: 1_000_000, headland: '9.9.9' }, /a newer Headland \(9\.9\.9, schema 1000000/],
    [{ format: 3 }, /has format 3, and this Headland reads up to 2/],
  ] as const) {
    const [first, ...rest] = made.entries
    const body = Buffer.from(JSON.stringify({ ...JSON.parse(String(first?.body)), ...change }))
    await assertRefused(t, packed([{ entry: { ...plain(HEAD), size: body.byteLength }, body }, ...rest]), why)
  }
})

test('any other file is refused as no backup', async (t) => {
  for (const bytes of [
    nothing,
    Buffer.from('hello'),
    Buffer.alloc(4096),
    Buffer.alloc(4096, 'x'),
    zstdCompressSync('hello'),
  ])
    await assertRefused(t, bytes, /not a backup of Headland/)
})

const OUTPUT = `outputs/${'0'.repeat(64)}`
const folder = (path: string): Whole => ({ entry: { ...plain(path), kind: 'folder', mode: 0o755 }, body: nothing })
const file = (path: string, text = 'x'): Whole => ({
  entry: { ...plain(path), size: text.length },
  body: Buffer.from(text),
})
const link = (kind: 'symlink' | 'hardlink', path: string, to: string): Whole => ({
  entry: { ...plain(path), kind, to },
  body: nothing,
})
const place = [folder(OUTPUT), folder(`${OUTPUT}/files`)]

const HOSTILE: Record<string, [Whole[], RegExp]> = {
  'a path that leads up': [[file('../outside')], /leads elsewhere/],
  'a path that leads up from inside': [[...place, file(`${OUTPUT}/files/../../../../outside`)], /leads elsewhere/],
  'an absolute path': [[file('/tmp/outside')], /leads elsewhere/],
  'a path with an empty name': [[...place, file(`${OUTPUT}/files//x`)], /leads elsewhere/],
  'a name that no data folder has': [[file('headland.json')], /has no place in a data folder/],
  'a file beside the database': [[file('headland.db-wal')], /has no place in a data folder/],
  'a route table': [[file('routes.log')], /has no place in a data folder/],
  'a link in place of the blobs': [[link('symlink', 'environments', '/etc')], /has no place in a data folder/],
  'a link in place of files': [[folder(OUTPUT), link('symlink', `${OUTPUT}/files`, '/etc')], /has no place/],
  'a file through a link': [
    [...place, link('symlink', `${OUTPUT}/files/out`, '/tmp'), file(`${OUTPUT}/files/out/x`)],
    /lies in no folder/,
  ],
  'a file in place of a link': [
    [...place, link('symlink', `${OUTPUT}/files/out`, '/etc/passwd'), file(`${OUTPUT}/files/out`)],
    /twice/,
  ],
  'the same folder twice': [[...place, folder(OUTPUT)], /twice/],
  'two databases': [[file('headland.db')], /twice/],
  'two beginnings': [[file(HEAD, '{}')], /begins twice/],
  'a hard link out of the folder': [
    [...place, link('hardlink', `${OUTPUT}/files/x`, '/etc/shadow')],
    /outside its folder/,
  ],
  'a hard link to the database': [
    [...place, link('hardlink', `${OUTPUT}/files/x`, 'headland.db')],
    /outside its folder/,
  ],
  'a hard link to a symlink': [
    [
      ...place,
      link('symlink', `${OUTPUT}/files/a`, '/etc/shadow'),
      link('hardlink', `${OUTPUT}/files/b`, `${OUTPUT}/files/a`),
    ],
    /a link to a missing file/,
  ],
  'a hard link that leads up': [
    [...place, link('hardlink', `${OUTPUT}/files/b`, `${OUTPUT}/../../headland.db`)],
    /a link to a missing file/,
  ],
  'a file without its folder': [[file(`${OUTPUT}/files/x`)], /lies in no folder/],
  'a whiteout over a file': [
    [
      ...place,
      file(`${OUTPUT}/files/x`),
      { entry: { ...plain(`${OUTPUT}/files/x`), kind: 'whiteout' }, body: nothing },
    ],
    /twice/,
  ],
  'a whiteout in place of the logs': [
    [{ entry: { ...plain('logs/x'), kind: 'whiteout' }, body: nothing }],
    /has no place/,
  ],
}

for (const [what, [entries, why]] of Object.entries(HOSTILE)) {
  test(`${what} is refused`, async (t) => {
    await assertRefused(t, packed([...made.entries, ...entries]), why)
  })
}

test('a list that does not end where the entries do is refused', async (t) => {
  const extra = file(`${OUTPUT}/files/x`)
  const listed = Buffer.from(packed([...made.entries, ...place, extra]))
  const bytes = Buffer.concat([headerOf(extra.entry), extra.body, padding(extra.entry.size)])
  const at = listed.indexOf(bytes.subarray(0, BLOCK))
  await assertRefused(
    t,
    Buffer.concat([listed.subarray(0, at), listed.subarray(at + bytes.byteLength)]),
    /is not as it is listed|more than it holds/,
  )
  await assertRefused(
    t,
    Buffer.concat([made.tar.subarray(0, -END.byteLength), bytes, END]),
    /something follows its list/,
  )
  await assertRefused(t, Buffer.concat([made.tar, Buffer.from('more')]), /something follows its end/)
})

test('a file is for its owner alone, is compressed by its name, and is not replaced unasked', async (t) => {
  const dir = await temporaryFolder(t)
  const path = join(dir, 'x.tar.zst')
  const written = await writeBackup(pieces(made.tar), path, { draft: `${path}.partial-1`, isForced: false })
  const content = await readFile(path)
  assert.equal(written.bytes, content.byteLength)
  assert.equal(written.digest, `sha256:${createHash('sha256').update(content).digest('hex')}`)
  assert.ok(content.byteLength < made.tar.byteLength / 4)
  const again = writeBackup(pieces(made.tar), path, { draft: `${path}.partial-2`, isForced: false })
  await assert.rejects(again, /exists\. Choose another name/)
  await writeBackup(pieces(made.tar), path, { draft: `${path}.partial-3`, isForced: true })
  assert.deepEqual(await readdir(dir), ['x.tar.zst'])
})

test('an error of the source rejects the write, and leaves no file', async (t) => {
  const dir = await temporaryFolder(t)
  async function* failing() {
    yield made.tar.subarray(0, 1000)
    throw new Error('the disk is gone')
  }
  for (const name of ['x.tar', 'x.tar.zst']) {
    const path = join(dir, name)
    await assert.rejects(
      writeBackup(failing(), path, { draft: `${path}.partial-1`, isForced: false }),
      /the disk is gone/,
    )
  }
  assert.deepEqual(await readdir(dir), [])
})

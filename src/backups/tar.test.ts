import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { BLOCK, checksumOf, END, padding } from '../tar/index.ts'
import type { BackupEntry } from './entry.ts'
import { bytesOf, entryOf, headerOf, nextHeader, skipPadding } from './tar.ts'

const plain: BackupEntry = { path: 'outputs/a', kind: 'file', mode: 0o644, uid: 0, gid: 0, time: 1, size: 0 }

async function* pieces(bytes: Buffer, size = bytes.byteLength) {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size)
}

async function readAll(tar: Buffer, size?: number): Promise<{ entry: BackupEntry; text: string }[]> {
  const bytes = bytesOf(pieces(tar, size))
  const found = []
  for (let raw = await nextHeader(bytes); raw; raw = await nextHeader(bytes)) {
    const entry = entryOf(raw)
    const text = (await bytes.take(entry.size)).toString('latin1')
    await skipPadding(bytes, entry.size)
    found.push({ entry, text })
  }
  assert.equal(await bytes.isOver(), true)
  return found
}

const names = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 300 })
  .filter((name) => !/[\0\ud800-\udfff]/u.test(name) && !name.endsWith('/'))
const ids = fc.integer({ min: 0, max: 2 ** 31 })
const about = { path: names, mode: fc.integer({ min: 0, max: 0o777 }), uid: ids, gid: ids, time: fc.nat() }
const entries: fc.Arbitrary<BackupEntry> = fc.oneof(
  fc.record({ ...about, kind: fc.constant('file' as const), size: fc.nat({ max: 2000 }) }),
  fc.record({
    ...about,
    kind: fc.constantFrom('symlink' as const, 'hardlink' as const),
    size: fc.constant(0),
    to: names,
  }),
  fc.record({ ...about, kind: fc.constant('whiteout' as const), size: fc.constant(0) }),
  fc.record(
    {
      ...about,
      kind: fc.constant('folder' as const),
      size: fc.constant(0),
      opaque: fc.constantFrom('user', 'trusted'),
    },
    { requiredKeys: ['path', 'mode', 'uid', 'gid', 'time', 'kind', 'size'] },
  ) as fc.Arbitrary<BackupEntry>,
)

test('whatever is written is read again, in pieces of any size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(entries, { maxLength: 8 }), fc.integer({ min: 1, max: 2000 }), async (written, size) => {
      const bodies = written.map((entry) => Buffer.alloc(entry.size, 'x'))
      const tar = Buffer.concat([
        ...written.flatMap((entry, at) => [headerOf(entry), bodies[at] as Buffer, padding(entry.size)]),
        END,
      ])
      const read = await readAll(tar, size)
      assert.deepEqual(
        read,
        written.map((entry, at) => ({ entry: { ...entry }, text: bodies[at]?.toString('latin1') })),
      )
    }),
    { numRuns: 200 },
  )
})

test('a size that a header cannot hold, and an owner, are read again', async () => {
  const entry = { ...plain, size: 9 * 1024 ** 3, uid: 3_000_000, gid: 4_000_000 }
  const raw = await nextHeader(bytesOf(pieces(headerOf(entry))))
  assert.deepEqual(raw && entryOf(raw), entry)
})

test('the headers of a backup are the bytes that they have always been, so that an old one still restores', () => {
  const entries: BackupEntry[] = [
    plain,
    { ...plain, path: 'outputs', kind: 'folder', mode: 0o711, uid: 200_001, gid: 200_002, time: 1_700_000_000 },
    { ...plain, path: 'outputs/ü', size: 9 * 1024 ** 3, uid: 3_000_000, gid: 4_000_000 },
    { ...plain, path: `packages/a/${'n'.repeat(150)}/ü`, size: 7, uid: 5, gid: 6 },
    { ...plain, path: 'packages/a/link', kind: 'symlink', mode: 0o777, to: `../${'b'.repeat(120)}` },
    { ...plain, path: 'packages/a/hard', kind: 'hardlink', to: 'outputs/a' },
    { ...plain, path: 'packages/a/gone', kind: 'whiteout' },
    { ...plain, path: 'packages/b', kind: 'folder', opaque: 'user' },
    { ...plain, path: 'packages/c', kind: 'folder', opaque: 'trusted', uid: 7, gid: 8 },
  ]
  const digest = createHash('sha256').update(Buffer.concat(entries.map(headerOf)))
  assert.equal(digest.digest('hex'), 'cdbf5dfa166a7b653b5aaf93ea496b6d4c1b5f9f6fe032953a94fda58c55f0fd')
})

test('other tools list it', () => {
  const long = `packages/a/${'n'.repeat(150)}/ü`
  const written: BackupEntry[] = [
    { ...plain, path: 'outputs', kind: 'folder', mode: 0o711, uid: 200_001, gid: 200_001 },
    { ...plain, path: long },
    { ...plain, path: 'packages/a/link', kind: 'symlink', mode: 0o777, to: '../b' },
    { ...plain, path: 'packages/a/gone', kind: 'whiteout' },
  ]
  const input = Buffer.concat([...written.map(headerOf), END])
  const listed = spawnSync('tar', ['--numeric-owner', '-tvf', '-'], {
    input,
    env: { LC_ALL: 'C.UTF-8', PATH: '/usr/bin:/bin' },
  })
  assert.equal(listed.status, 0, listed.stderr.toString())
  const columns = listed.stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' '))
  assert.match(columns[0] ?? '', /^drwx--x--x 200001\/200001 0 .* outputs\/$/)
  assert.ok(columns[1]?.endsWith(long), columns[1])
  assert.match(columns[2] ?? '', /packages\/a\/link -> \.\.\/b$/)
  assert.match(columns[3] ?? '', /^crw-r--r-- 0\/0 0,0 .* packages\/a\/gone$/)
})

/** A header with something wrong in it, and a checksum that is right. */
function forged(change: (header: Buffer) => void, entry = plain): Buffer {
  const header = Buffer.from(headerOf(entry))
  change(header)
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return Buffer.concat([header, END])
}

const withRecords = (body: string): Buffer => {
  const size = Buffer.byteLength(body)
  const header = Buffer.from(headerOf({ ...plain, size }))
  header.write('x', 156, 'latin1')
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return Buffer.concat([header, Buffer.from(body), padding(size), headerOf(plain), END])
}

const REFUSED: Record<string, [Buffer, RegExp]> = {
  'a device': [forged((header) => header.write('0000001', 329), { ...plain, kind: 'whiteout' }), /is a device/],
  'a block device': [forged((header) => header.write('4', 156)), /entry of the type "4"/],
  'a fifo': [forged((header) => header.write('6', 156)), /entry of the type "6"/],
  'a long name of GNU': [forged((header) => header.write('L', 156)), /entry of the type "L"/],
  'a global header': [forged((header) => header.write('g', 156)), /entry of the type "g"/],
  'a sparse file': [forged((header) => header.write('S', 156)), /entry of the type "S"/],
  'a mode with more than permissions': [
    forged((header) => header.write('0004755', 100)),
    /more than plain permissions/,
  ],
  'a link with bytes': [
    forged((header) => header.write('1', 156), { ...plain, size: 5 }),
    /has bytes and is not a file/,
  ],
  'a number in base 256': [forged((header) => header.writeUInt8(0x80, 124)), /a number in a header/],
  'a header of another format': [forged((header) => header.write('ustar  \0', 257, 'latin1')), /a header is malformed/],
  'a name that is not UTF-8': [forged((header) => header.writeUInt8(0xff, 0)), /not UTF-8/],
  'an attribute that Headland does not write': [withRecords('31 SCHILY.xattr.security.x=abc\n'), /says "SCHILY/],
  'a record with a wrong length': [withRecords('99 path=a\n'), /extended header is malformed/],
  'a record twice': [withRecords('9 path=a\n9 path=b\n'), /has a key twice/],
  'a record without an end': [withRecords('9 path=ab'), /extended header is malformed/],
  'a negative size': [withRecords('11 size=-1\n'), /a number in an extended header/],
}

for (const [what, [tar, why]] of Object.entries(REFUSED)) {
  test(`${what} is refused`, async () => {
    await assert.rejects(readAll(tar), why)
  })
}

test('a header with one bit that is not right is refused', async () => {
  const tar = Buffer.concat([headerOf(plain), END])
  for (let at = 0; at < BLOCK; at++) {
    const flipped = Buffer.from(tar)
    flipped.writeUInt8((tar[at] as number) ^ 1, at)
    await assert.rejects(readAll(flipped), /broken/, `byte ${at}`)
  }
})

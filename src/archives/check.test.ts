import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32, deflateRawSync } from 'node:zlib'
import { temporaryFolder } from '../../test/support/folder.ts'
import { entryOf, extraField, writeZip, type ZipEntry, zip64Field, zipOf } from '../../test/support/zip.ts'
import { Problem, type Reason } from '../contract/index.ts'
import { type Contents, withArchive } from './check.ts'
import { DEFAULT_ARCHIVE_LIMITS } from './limits.ts'
import { printable } from './refusals.ts'

const LIMITS = { ...DEFAULT_ARCHIVE_LIMITS, archiveBytes: 10_000_000 }

async function check(t: TestContext, zip: Buffer, limits = LIMITS): Promise<Contents> {
  const path = join(await temporaryFolder(t), 'archive.zip')
  await writeFile(path, zip)
  return await withArchive(path, limits, (contents) => contents)
}

const pathsOf = ({ files, folders, links }: Contents) => ({
  files: files.map(({ path }) => path),
  folders: folders.map(({ path }) => path),
  links: Object.fromEntries(links.map(({ path, leadsTo }) => [path, leadsTo])),
})

const GOOD = entryOf('good.txt', 'good')
const good = (...more: ZipEntry[]) => writeZip([GOOD, ...more])
const named = (name: string | Buffer) => good({ name, content: 'x' })
const linked = (name: string, link: string, others: ZipEntry[] = []) => good(...others, entryOf(name, { link }))

type Refusal = { what: string; zip: Buffer; reason: Reason; entry?: string; why?: RegExp }

const UNSAFE_NAMES: [what: string, name: string | Buffer, why: RegExp, entry?: string][] = [
  ['a name with .. in front', '../evil', /\.\. in the path/],
  ['a name with .. in the middle', 'a/../../evil', /\.\. in the path/],
  ['a name with .. at the end', 'a/..', /\.\. in the path/],
  ['a folder named ..', '../', /\.\. in the path/],
  ['an absolute path', '/etc/passwd', /absolute path/],
  ['a path that is only a slash', '/', /absolute path/],
  ['a path of two slashes', '//', /absolute path/],
  ['a drive letter', 'C:evil', /drive letter/],
  ['a drive letter with a slash', 'c:/evil', /drive letter/],
  ['a NUL', 'a\0.txt', /NUL/, 'a\\u{0}.txt'],
  ['a back-slash', 'a\\..\\b', /back-slash/],
  ['an empty segment', 'a//b', /empty segment/],
  ['a folder with two slashes at its end', 'a//', /empty segment/],
  ['a . segment', 'a/./b', /a \. in the path/],
  ['a name that is only a dot', '.', /a \. in the path/],
  ['an empty name', '', /empty name/],
  ['a line feed', 'a\nb', /control character/, 'a\\u{a}b'],
  ['an escape sequence', '\x1b[2Jb', /control character/, '\\u{1b}[2Jb'],
  ['a control character of Latin-1', 'a\u0085b', /control character/, 'a\\u{85}b'],
  ['a name that is not UTF-8', Buffer.from([0x61, 0xff, 0x62]), /not UTF-8/, 'a\ufffdb'],
  [
    'a name in overlong UTF-8',
    Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x61]),
    /not UTF-8/,
    '\ufffd\ufffd\ufffd\ufffd/a',
  ],
  ['a segment that Linux refuses', `${'a'.repeat(256)}/b`, /255 bytes/, 'a'.repeat(200)],
  ['a path of 200 folders', `${'a/'.repeat(200)}b`, /folders deep/, 'a/'.repeat(100)],
]

const NAMES: Refusal[] = UNSAFE_NAMES.map(([what, name, why, entry]) => ({
  what,
  zip: named(name),
  reason: 'ARCHIVE_ENTRY_UNSAFE',
  entry: entry ?? String(name),
  why,
}))

const CLASHES: Refusal[] = (
  [
    ['the same name twice', 'a/b', 'a/b', /twice/],
    ['the same folder twice', 'a/', 'a/', /twice/],
    ['names that differ in case only', 'a/readme', 'a/README', /case/],
    ['folders that differ in case only', 'a/B', 'A/b', /case/],
    ['a folder entry and a path that differ in case only', 'assets/', 'Assets/b', /case/],
    ['names that are one in NFC', 'caf\u00e9', 'cafe\u0301', /Unicode form/],
    ['folders that are one in NFC', 'caf\u00e9/a', 'cafe\u0301/b', /Unicode form/],
    ['names that differ in case where one has more letters', 'stra\u00dfe', 'STRASSE', /case/],
    ['a file that is also a folder', 'a', 'a/b', /file and a folder/],
    ['a folder that is also a file', 'a/b', 'a', /file and a folder/],
    ['a file that is also a folder by its own entry', 'a', 'a/', /twice/],
  ] as const
).map(([what, first, second, why]) => ({
  what,
  zip: good(entryOf(first, 'x'), entryOf(second, 'y')),
  reason: 'ARCHIVE_ENTRY_DUPLICATE',
  entry: second.replace(/\/$/, ''),
  why,
}))

const LINKS: Refusal[] = (
  [
    ['a link to an absolute path', linked('a', '/etc/passwd'), /absolute/],
    ['a link to a drive', linked('a', 'C:/x'), /absolute/],
    ['a link with back-slashes', linked('a', '..\\x'), /absolute/],
    ['a link out of the archive', linked('a', '../x'), /leaves/],
    ['a link out of the archive from a folder', linked('b/a', '../../x'), /leaves/],
    ['a link that leaves and comes back', linked('b/a', '../../app/x'), /leaves/],
    ['a link that goes in and then out', linked('a', 'b/../../x'), /leaves/],
    ['a link to nowhere', linked('a', ''), /nowhere/],
    ['a link with a NUL', linked('a', 'x\0y'), /control character/],
    ['a link with a target of 4,096 bytes', linked('a', 'x/'.repeat(2048)), /too long/],
    ['a link that is not UTF-8', good({ ...entryOf('a', { link: '' }), content: Buffer.from([0xff]) }), /not UTF-8/],
    ['a link to another link', linked('a', 'b', [entryOf('b', { link: 'good.txt' })]), /link to a link/],
    ['a link to itself', linked('a', 'a'), /link to a link/],
    ['a link through another link', linked('a', 'b/c', [entryOf('b', { link: 'd' })]), /link to a link/],
    [
      'a link through another link that comes later',
      good(entryOf('a', { link: 'z/../..' }), entryOf('z', { link: 'b/c' })),
      /link/,
    ],
    ['a link through another link in other case', linked('a', 'B/c', [entryOf('b', { link: 'd' })]), /link to a link/],
  ] as const
).map(([what, zip, why]) => ({ what, zip, reason: 'ARCHIVE_ENTRY_UNSAFE', entry: 'a', why }) satisfies Refusal)
for (const refusal of LINKS) if (/from a folder|comes back/.test(refusal.what)) refusal.entry = 'b/a'

const mode = (bits: number, name = 'odd') => good({ name, content: '', method: 0, mode: bits })
const KINDS: Refusal[] = (
  [
    ['a character device', mode(0o020644), /device/],
    ['a block device', mode(0o060644), /device/],
    ['a named pipe', mode(0o010644), /pipe/],
    ['a socket', mode(0o140644), /socket/],
    ['an unknown kind', mode(0o050644), /does not fit/],
    ['a folder without a slash', mode(0o040755), /does not fit/],
    ['a link with a slash', mode(0o120777, 'odd/'), /does not fit/],
    [
      'a device by a Unix mode of a DOS entry',
      good({ name: 'odd', content: '', mode: 0o020644, madeBy: 20 }),
      /device/,
    ],
    ['a folder with content', good({ name: 'odd/', content: 'x', mode: 0o040755 }), /folder with content/],
    ['a path through a link', good(entryOf('d', { link: 'e' }), entryOf('d/odd', 'x')), /through a link/],
    ['a link where a folder is', good(entryOf('odd/x', 'x'), entryOf('odd', { link: 'e' })), /through a link/],
    ['bzip2', good({ name: 'odd', packed: Buffer.from('x'), method: 12 }), /compression method/],
    [
      'a header in front of the data with another name',
      good({ name: 'odd', content: 'x', local: { name: 'eve' } }),
      /two names/,
    ],
    [
      'a header in front of the data with a longer name',
      good({ name: 'odd', content: 'x', local: { name: 'odder' } }),
      /two names/,
    ],
    [
      'a header in front of the data with another method',
      good({ name: 'odd', content: 'x', local: { method: 0 } }),
      /methods/,
    ],
    [
      'a header in front of the data that is encrypted',
      good({ name: 'odd', content: 'x', local: { flags: 0x801 } }),
      /flags/,
    ],
    [
      'two entries with the same data',
      good(entryOf('even', 'x'), { name: 'odd', content: 'x', isOnlyInDirectory: true, offset: 0 }),
      /overlaps/,
    ],
    ['an entry inside another one', nested(), /overlaps/],
  ] as const
).map(([what, zip, why]) => ({ what, zip, reason: 'ARCHIVE_ENTRY_UNSAFE', why }) satisfies Refusal)

/** A stored entry whose data is a whole local entry, which the directory has as an entry too. */
function nested(): Buffer {
  const inner = writeZip([{ name: 'odd', content: 'inside', method: 0 }])
  return writeZip([
    { name: 'outer', content: inner, method: 0 },
    { name: 'odd', content: 'inside', method: 0, isOnlyInDirectory: true, offset: 30 + 'outer'.length },
  ])
}

const packed = deflateRawSync('x'.repeat(100))
const SIZES: Refusal[] = (
  [
    ['stored with two sizes', good({ name: 'liar', content: 'x', method: 0, size: 2 }), /two sizes/],
    ['a deflate ratio of 1033', good({ name: 'liar', packed, size: packed.length * 1033 }), /larger than deflate/],
    ['content out of no bytes', good({ name: 'liar', packed: Buffer.alloc(0), size: 1 }), /larger than deflate/],
    [
      'a megabyte for one byte',
      good({ name: 'liar', packed: Buffer.alloc(1_000_000), size: 1 }),
      /smaller than deflate/,
    ],
    ['another size in front of the data', good({ name: 'liar', content: 'x', local: { size: 9 } }), /two sizes/],
    ['another checksum in front of the data', good({ name: 'liar', content: 'x', local: { crc32: 9 } }), /two sizes/],
    [
      'data that goes on into the directory',
      good({ name: 'liar', content: 'x', method: 0, size: 40, compressedSize: 40 }),
      /into the directory/,
    ],
    [
      'data beyond the end of the file',
      good({ name: 'liar', content: 'x', method: 0, size: 4000, compressedSize: 4000 }),
      /into the directory/,
    ],
    ['a link with another checksum', good({ ...entryOf('liar', { link: 'x' }), crc32: 9 }), /checksum/],
  ] as const
).map(([what, zip, why]) => ({ what, zip, reason: 'ARCHIVE_SIZE_LIES', entry: 'liar', why }) satisfies Refusal)

const ENCRYPTED: Refusal[] = (
  [
    ['encrypted entry', { flags: 0x801 }],
    ['strongly encrypted entry', { flags: 0x841 }],
    ['entry with the bit for strong encryption alone', { flags: 0x840 }],
    ['entry whose header is masked', { flags: 0x2800 }],
    ['entry encrypted by AES', { flags: 0x801, method: 99, packed: Buffer.alloc(30) }],
  ] as const
).map(([what, fields]) => ({
  what: `an ${what}`,
  zip: good({ name: 'secret', content: 'x', ...fields }),
  reason: 'ARCHIVE_ENCRYPTED',
  entry: 'secret',
}))

const whole = zipOf({ 'a.txt': 'a', 'b.txt': 'b' })
const one = (end: Parameters<typeof writeZip>[1]) => writeZip([GOOD], end)
const NOT_ZIPS: Refusal[] = (
  [
    ['an empty file', Buffer.alloc(0)],
    ['a text', Buffer.from('this is not a zip')],
    ['a gzip', Buffer.concat([Buffer.from([0x1f, 0x8b, 8]), Buffer.alloc(100)])],
    ['a zip without its last byte', whole.subarray(0, -1)],
    ['a zip without its first byte', whole.subarray(1)],
    ['the first half of a zip', whole.subarray(0, whole.length / 2)],
    ['a zip with something behind it', Buffer.concat([whole, Buffer.from('x')])],
    ['a zip with something before it', Buffer.concat([Buffer.from('#!'), whole])],
    ['a zip with something before it that its offsets know of', writeZip([{ ...GOOD, gap: Buffer.from('GIF89a') }])],
    ['a comment shorter than its length field', one({ commentLength: 5 })],
    ['a gap between the directory and its end', one({ gap: Buffer.alloc(9) })],
    ['a directory longer than its size field', one({ directorySize: 10 })],
    ['a directory that starts elsewhere', one({ directoryOffset: 1 })],
    ['a directory beyond the end', one({ directoryOffset: 0xffffffff })],
    [
      'fewer entries than the directory holds, as when the number does not fit its field',
      writeZip([GOOD, entryOf('b', 'b')], { entries: 1 }),
    ],
    ['more entries than the directory holds', one({ entries: 2 })],
    ['a second disk', one({ disk: 1 })],
    ['a directory on a second disk', one({ directoryDisk: 1 })],
    ['entries on another disk', one({ entriesOnDisk: 0 })],
    ['zip64 on a second disk', one({ zip64: { disk: 1 } })],
    ['zip64 of two disks', one({ zip64: { disks: 2 } })],
    ['a zip64 record beyond the end', one({ zip64: { recordOffset: 2n ** 64n - 1n } })],
    ['a zip64 record that is somewhere else', one({ zip64: { recordOffset: 0n } })],
    ['a zip64 record of another size', one({ zip64: { recordSize: 2n ** 64n - 1n } })],
    ['a zip64 directory of another size', one({ zip64: { directorySize: 2n ** 64n - 1n } })],
    ['a zip64 directory beyond the end', one({ zip64: { directoryOffset: 2n ** 63n } })],
    ['an entry that is not where it should be', good({ name: 'x', content: 'x', central: { offset: 90_000_000 } })],
    ['an entry where no header is', good({ name: 'x', content: 'x', central: { offset: 45 } })],
    [
      'an entry with a zip64 offset of 2^64 - 1',
      good({ name: 'x', content: 'x', central: { offset: 0xffffffff, extra: zip64Field(2n ** 64n - 1n) } }),
    ],
    [
      'an extra field that is longer than all of them',
      good({ name: 'x', content: 'x', central: { extra: Buffer.from([1, 0, 99, 0]) } }),
    ],
  ] as const
).map(([what, zip]) => ({ what, zip, reason: 'ARCHIVE_NOT_ZIP' }))

const EMPTY: Refusal[] = (
  [
    ['a zip without entries', writeZip([])],
    ['a zip of folders', zipOf({ 'a/': '', 'a/b/': '' })],
    ['a zip of node_modules', zipOf({ 'node_modules/a/index.js': 'x' })],
    ['a zip of nothing but what Finder leaves', zipOf({ '__MACOSX/._a': 'x', '.DS_Store': 'x' })],
    ['a zip of nothing but a link', zipOf({ a: { link: 'b' } })],
  ] as const
).map(([what, zip]) => ({ what, zip, reason: 'ARCHIVE_EMPTY' }))

for (const { what, zip, reason, entry, why } of [
  ...NAMES,
  ...CLASHES,
  ...LINKS,
  ...KINDS,
  ...SIZES,
  ...ENCRYPTED,
  ...NOT_ZIPS,
  ...EMPTY,
]) {
  test(`${what} is refused`, async (t) => {
    await assert.rejects(check(t, zip), (error) => {
      assert.ok(error instanceof Problem, String((error as Error).stack))
      assert.equal(error.reason, reason, error.message)
      if (entry !== undefined) assert.equal(error.metadata.entry, entry)
      if (why) assert.match(error.metadata.why ?? '', why)
      return true
    })
  })
}

const HUGE = 2n ** 64n - 1n
const TOO_LARGE: [what: string, zip: Buffer, limits: Partial<typeof LIMITS>, metadata: Record<string, string>][] = [
  ['one entry more than allowed', zipOf({ a: '', b: '', c: '' }), { entries: 2 }, { what: 'entries', limit: '2' }],
  [
    'a number of entries that only zip64 can say',
    one({ entries: 0xffff, zip64: { entries: HUGE } }),
    {},
    { what: 'entries', limit: '50000' },
  ],
  [
    'more folders in the names than entries are allowed',
    zipOf({ 'a/b/c/d': '', 'b/b/c/d': '' }),
    { entries: 5 },
    { what: 'entries', limit: '5' },
  ],
  [
    'more bytes than allowed by what the entries say together',
    zipOf({ a: 'x'.repeat(60), b: 'x'.repeat(41) }),
    { unpackedBytes: 100 },
    { what: 'unpackedBytes', limit: '100', entry: 'b' },
  ],
  [
    'a name of one byte more than allowed',
    zipOf({ 'n\u00e4me': '' }),
    { pathBytes: 4 },
    { what: 'pathBytes', limit: '4', entry: 'n\u00e4me' },
  ],
  [
    'names of one byte more than allowed together',
    zipOf({ abcd: '', 'n\u00e4me': '' }),
    { namesBytes: 8 },
    { what: 'namesBytes', limit: '8', entry: 'n\u00e4me' },
  ],
]
for (const [what, zip, limits, metadata] of TOO_LARGE) {
  test(`${what} is too large`, async (t) => {
    await assert.rejects(check(t, zip, { ...LIMITS, ...limits }), { reason: 'ARCHIVE_TOO_LARGE', metadata })
  })
}

test('sizes of 2^64 - 1 in zip64 fields overflow nothing', async (t) => {
  const giant: ZipEntry = {
    name: 'giant',
    method: 0,
    central: { size: 0xffffffff, compressedSize: 0xffffffff, extra: zip64Field(HUGE, HUGE) },
  }
  const refused = {
    reason: 'ARCHIVE_TOO_LARGE',
    metadata: { what: 'unpackedBytes', limit: String(LIMITS.unpackedBytes), entry: 'giant' },
  }
  await assert.rejects(check(t, good(giant, { ...giant, name: 'another' })), refused)
})

test('100,000 empty entries are refused without being read', async (t) => {
  const zip = writeZip([GOOD], { entries: 0xffff, zip64: { entries: 100_000n } })
  await assert.rejects(check(t, zip), { reason: 'ARCHIVE_TOO_LARGE' })
})

test('an archive with any one byte changed is accepted or refused, and nothing else happens', async (t) => {
  const path = join(await temporaryFolder(t), 'archive.zip')
  const zip = zipOf({ 'a/x': 'x', l: { link: 'a/x' } })
  for (const at of zip.keys()) {
    const changed = Buffer.from(zip)
    changed[at] = ~(changed[at] ?? 0)
    await writeFile(path, changed)
    await withArchive(path, LIMITS, () => undefined).catch((error) =>
      assert.ok(error instanceof Problem, `${at}: ${error}`),
    )
  }
})

test('a name in a refusal is cut to 200 characters and cannot move a cursor or change the direction of text', () => {
  assert.equal(printable('x'.repeat(1000)).length, 200)
  assert.equal(printable(`${'\u{1f600}'.repeat(150)}`).length, 200)
  assert.equal(printable('a\r\n\u202etxt.exe\u2028\u200b'), 'a\\u{d}\\u{a}\\u{202e}txt.exe\\u{2028}\\u{200b}')
  assert.equal(printable(`${'x'.repeat(198)}\0`), 'x'.repeat(198))
})

test('files, folders, links and modes of an archive are read', async (t) => {
  const contents = await check(
    t,
    zipOf({
      'public/': '',
      'public/index.html': '<h1>',
      'bin/run': { content: '#!/bin/sh', mode: 0o755 },
      'docs/latest': { link: '../public/index.html' },
      'docs/top': { link: '..' },
      'docs/gone': { link: './../not/there//' },
      'caf\u00e9/Stra\u00dfe.txt': 'x',
    }),
  )
  assert.deepEqual(pathsOf(contents), {
    files: ['public/index.html', 'bin/run', 'caf\u00e9/Stra\u00dfe.txt'],
    folders: ['public'],
    links: { 'docs/latest': 'public/index.html', 'docs/top': '', 'docs/gone': 'not/there' },
  })
  assert.deepEqual(
    contents.files.map(({ entry }) => entry.isExecutable),
    [false, true, false],
  )
})

const sized = { crc32: 0, size: 0, compressedSize: 0 }
const ACCEPTED: [what: string, zip: Buffer][] = [
  [
    'sizes that follow the data',
    writeZip([
      { name: 'a', content: 'x', flags: 0x808, local: sized },
      { ...GOOD, gap: Buffer.alloc(16) },
    ]),
  ],
  ['a name in UTF-8 without the bit that says so', writeZip([{ name: '\u00fc', content: 'x', flags: 0 }])],
  ['other hints of compression in front of the data', writeZip([{ ...GOOD, local: { flags: 0x806 } }])],
  ['a comment', writeZip([{ ...GOOD, comment: 'of an entry' }], { comment: 'of the archive' })],
  ['an empty file that is deflated to nothing', writeZip([{ name: 'a', packed: Buffer.alloc(0) }])],
  ['an entry of DOS without a mode', writeZip([{ ...GOOD, madeBy: 20, attributes: 0x20 }])],
  ['a folder with the mode of a file', writeZip([GOOD, { name: 'a/', mode: 0o100644 }])],
  [
    'zip64 without need',
    writeZip([{ ...GOOD, central: { size: 0xffffffff, extra: zip64Field(4n) } }], {
      entries: 0xffff,
      directoryOffset: 0xffffffff,
      zip64: {},
    }),
  ],
  ['entries whose directory has another order', reordered()],
]
for (const [what, zip] of ACCEPTED) {
  test(`${what} is accepted`, async (t) => {
    assert.ok((await check(t, zip)).files.length > 0)
  })
}

function reordered(): Buffer {
  const second = 30 + 1 + 1
  return writeZip([
    {
      name: 'b',
      content: 'b',
      method: 0,
      local: { name: 'a', crc32: crc32('a') },
      packed: Buffer.from('a'),
      central: { offset: second },
    },
    {
      name: 'a',
      content: 'a',
      method: 0,
      local: { name: 'b', crc32: crc32('b') },
      packed: Buffer.from('b'),
      central: { offset: 0 },
    },
  ])
}

test('a name in the Unicode path field counts in place of the one in another code page', async (t) => {
  const name = Buffer.from([0x81, 0x2e, 0x74, 0x78, 0x74])
  const data = Buffer.concat([Buffer.from([1]), Buffer.alloc(4), Buffer.from('\u00fc.txt')])
  data.writeUInt32LE(crc32(name), 1)
  const contents = await check(
    t,
    writeZip([{ name, content: 'x', flags: 0, central: { extra: extraField(0x7075, data) } }]),
  )
  assert.deepEqual(pathsOf(contents).files, ['\u00fc.txt'])
})

test('a name in the Unicode path field must follow the same rules', async (t) => {
  const data = Buffer.concat([Buffer.from([1]), Buffer.alloc(4), Buffer.from('../x')])
  data.writeUInt32LE(crc32('a'), 1)
  const zip = writeZip([{ name: 'a', content: 'x', central: { extra: extraField(0x7075, data) } }])
  await assert.rejects(check(t, zip), {
    reason: 'ARCHIVE_ENTRY_UNSAFE',
    metadata: { entry: '../x', why: 'a .. in the path' },
  })
})

test('a link may not lead out through the removed top folder', async (t) => {
  const zip = zipOf({ 'app/index.html': 'x', 'app/a': { link: '../app/index.html' } })
  await assert.rejects(check(t, zip), { reason: 'ARCHIVE_ENTRY_UNSAFE' })
})

test('clashing names and links in skipped entries are ignored', async (t) => {
  const contents = await check(
    t,
    zipOf({
      'index.html': 'x',
      '.git/refs/heads/Main': 'x',
      '.git/refs/heads/main': 'x',
      'node_modules/.bin/tool': { link: '../linked/tool.js' },
      'node_modules/linked': { link: '../../elsewhere' },
    }),
  )
  assert.deepEqual(pathsOf(contents).files, ['index.html'])
  assert.deepEqual(contents.skipped, { nodeModules: 2, git: 2 })
})

test('names that could leave their folder are refused even in skipped entries', async (t) => {
  await assert.rejects(check(t, zipOf({ 'index.html': 'x', 'node_modules/../../x': 'x' })), {
    reason: 'ARCHIVE_ENTRY_UNSAFE',
  })
})

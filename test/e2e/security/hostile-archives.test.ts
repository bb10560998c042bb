/**
 * Malicious archives, sent as by any client. Each is refused for the right reason, with the name of the entry, or is
 * detected when it is unpacked and never goes live, or is accepted because it is harmless. In the end nothing is left
 * of them, inside the data folder or around it.
 */
import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { crc32, deflateRawSync } from 'node:zlib'
import type { Reason, resources } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, nodeServer, page, reasonOf, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { entryOf, extraField, writeZip, type ZipEntry, zip64Field, zipOf } from '../../support/zip.ts'

const MIB = 1024 ** 2
const LIMITS = { unpackedBytes: 64 * MIB, entries: 50_000, pathBytes: 1024 }
const MAX_GROWTH_MEBIBYTES = 100

// Two folders around the data folder, so that files that escape it would be found there.
const outside = await temporaryFolder({ after })
await chmod(outside, 0o711)
const around = join(outside, 'around')
const dataDir = join(around, 'data')
await mkdir(dataDir, { recursive: true, mode: 0o711 })
const SECRET = 'no tenant may read this'
await writeFile(join(outside, 'secret.txt'), SECRET)

const service = await startService(
  { after },
  { dataDir, settings: { HEADLAND_UNPACKED_BYTES: String(LIMITS.unpackedBytes) } },
)
const as = await service.login()
/** Every archive for this environment is refused. */
const wary = await createEnvironment(service, as)
/** Accepted archives go live here, and the live one stays live when the next one fails. */
const open = await createEnvironment(service, as)

type Expected =
  | { is: 'refused'; status: 400 | 413; reason: Reason; metadata: Record<string, string>; why?: RegExp }
  | { is: 'found out'; reason: Reason; entry: string }
  /** The expected responses of the site: a text, or a status. */
  | { is: 'harmless'; site: Record<string, string | number | Buffer> }

type Row = [sentence: string, zip: () => Buffer, expected: Expected]

const refused = (reason: Reason, why: RegExp, entry?: string): Expected => ({
  ...{ is: 'refused', status: 400, reason, why },
  metadata: entry === undefined ? {} : { entry },
})
const notZip = (why: RegExp): Expected => refused('ARCHIVE_NOT_ZIP', why)
const unsafe = (entry: string, why: RegExp): Expected => refused('ARCHIVE_ENTRY_UNSAFE', why, entry)
const lies = (entry: string, why: RegExp): Expected => refused('ARCHIVE_SIZE_LIES', why, entry)
const duplicate = (entry: string, why: RegExp): Expected => refused('ARCHIVE_ENTRY_DUPLICATE', why, entry)
const encrypted = (entry: string): Expected => refused('ARCHIVE_ENCRYPTED', /encrypted/, entry)
const empty: Expected = { is: 'refused', status: 400, reason: 'ARCHIVE_EMPTY', metadata: {} }
const tooLarge = (what: keyof typeof LIMITS, entry?: string): Expected => ({
  ...{ is: 'refused', status: 413, reason: 'ARCHIVE_TOO_LARGE' },
  metadata: { what, limit: String(LIMITS[what]), ...(entry === undefined ? {} : { entry }) },
})
const foundOut = (entry: string): Expected => ({ is: 'found out', reason: 'ARCHIVE_SIZE_LIES', entry })
const harmless = (site: Record<string, string | number | Buffer>): Expected => ({ is: 'harmless', site })

const INDEX = entryOf('index.html', '<h1>')
const withIndex = (...entries: ZipEntry[]): Buffer => writeZip([INDEX, ...entries])
const named = (name: string | Buffer) => () => withIndex({ name, content: 'evil' })
const linked = (name: string, link: string) => () => withIndex(entryOf(name, { link }))
const pair = (first: string, second: string) => () => withIndex(entryOf(first, 'x'), entryOf(second, 'y'))
/** A zip of one entry with other values in its end record. */
const ending = (end: Parameters<typeof writeZip>[1]) => () => writeZip([INDEX], end)

/** The local header, without the data. */
const headerOf = (entry: ZipEntry): Buffer =>
  writeZip([entry]).subarray(0, 30 + Buffer.byteLength(entry.name) + (entry.extra?.length ?? 0))
const directoryStart = (zip: Buffer): number => zip.readUInt32LE(zip.length - 6)
/** The bytes of an entry that is in no directory. */
const withoutDirectory = (entry: ZipEntry): Buffer => {
  const zip = writeZip([entry])
  return zip.subarray(0, directoryStart(zip))
}

const NAMES: Row[] = [
  ['a name with ../ in front', named('../evil'), unsafe('../evil', /\.\. in the path/)],
  ['a name with many ../', named(`${'../'.repeat(40)}tmp/evil`), unsafe(`${'../'.repeat(40)}tmp/evil`, /\.\./)],
  ['a name with ../ in the middle', named('a/b/../../../evil'), unsafe('a/b/../../../evil', /\.\. in the path/)],
  ['a name that ends in /..', named('a/..'), unsafe('a/..', /\.\. in the path/)],
  ['a name with ..\\ in front', named('..\\..\\evil'), unsafe('..\\..\\evil', /back-slash/)],
  ['a name that mixes both slashes', named('a/..\\../evil'), unsafe('a/..\\../evil', /back-slash/)],
  ['an absolute name', named(join(outside, 'evil')), unsafe(join(outside, 'evil'), /absolute path/)],
  ['a name with two slashes in front', named('//evil'), unsafe('//evil', /absolute path/)],
  ['a name with a drive letter', named('C:/evil'), unsafe('C:/evil', /drive letter/)],
  ['a name relative to a drive', named('c:evil'), unsafe('c:evil', /drive letter/)],
  ['a UNC name', named('\\\\host\\share\\evil'), unsafe('\\\\host\\share\\evil', /back-slash/)],
  ['a UNC name of a device', named('\\\\?\\C:\\evil'), unsafe('\\\\?\\C:\\evil', /back-slash/)],
  ['a name that a NUL cuts off', named('evil.html\0.txt'), unsafe('evil.html\\u{0}.txt', /NUL/)],
  ['a name with a line feed', named('a\nevil'), unsafe('a\\u{a}evil', /control character/)],
  ['a name that is nothing', named(''), unsafe('', /empty name/)],
  ['a name that is a dot', named('./index.html'), unsafe('./index.html', /a \. in the path/)],
  ['a name that is not UTF-8', named(Buffer.from('a\xffb', 'latin1')), unsafe('a\ufffdb', /not UTF-8/)],
  [
    'a name of another code page',
    () => withIndex({ name: Buffer.from('caf\x82', 'latin1'), content: 'x', flags: 0 }),
    unsafe('caf\ufffd', /not UTF-8/),
  ],
  [
    'a name with ../ in overlong UTF-8',
    named(Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0xc0, 0xaf, 0x61])),
    unsafe(`${'\ufffd'.repeat(6)}a`, /not UTF-8/),
  ],
  [
    'a name whose Unicode field leads out',
    () => withIndex({ name: 'good', content: 'x', central: { extra: unicodePath('good', '../evil') } }),
    unsafe('../evil', /\.\. in the path/),
  ],
  ['a name of 64 KiB', named('n'.repeat(0xffff)), tooLarge('pathBytes', 'n'.repeat(200))],
  ['a segment of 256 bytes', named(`${'s'.repeat(256)}/a`), unsafe('s'.repeat(200), /255 bytes/)],
  ['a path of 500 folders', named(`${'d/'.repeat(500)}a`), unsafe('d/'.repeat(100), /folders deep/)],
  [
    'a name that leads out of a folder that is not unpacked',
    named('node_modules/../../evil'),
    unsafe('node_modules/../../evil', /\.\. in the path/),
  ],
  [
    'a name with ../ percent-encoded',
    named('%2e%2e%2f%2e%2e%2fsecret.txt'),
    harmless({ '/%252e%252e%252f%252e%252e%252fsecret.txt': 'evil', '/%2e%2e%2f%2e%2e%2fsecret.txt': 404 }),
  ],
  [
    'a name with slashes of Unicode',
    named('a\u2215..\u2215..\u2215evil'),
    harmless({ '/a%E2%88%95..%E2%88%95..%E2%88%95evil': 'evil', '/evil': 404 }),
  ],
  [
    'a name with slashes of full width',
    named('a\uff0f..\uff0fevil'),
    harmless({ '/a%EF%BC%8F..%EF%BC%8Fevil': 'evil', '/evil': 404 }),
  ],
  ['a name with dots behind it', named('evil...'), harmless({ '/evil...': 'evil', '/evil': 404 })],
  ['a folder of three dots', named('a/.../evil'), harmless({ '/': '<h1>', '/evil': 404, '/a/evil': 404 })],
  ['a folder of two dots and a space', named('a/.. /evil'), harmless({ '/': '<h1>', '/evil': 404 })],
  ['a name of a stream of NTFS', named('a.txt::$DATA'), harmless({ '/a.txt::$DATA': 'evil', '/a.txt': 404 })],
  ['a name of a device of DOS', named('NUL.txt'), harmless({ '/NUL.txt': 'evil' })],
  ['a name that a shell would run', named('$(touch evil);`id`'), harmless({ '/$(touch%20evil);%60id%60': 'evil' })],
  ['a name that looks like an option', named('--help'), harmless({ '/--help': 'evil' })],
  ['a name of JavaScript itself', named('__proto__/constructor'), harmless({ '/__proto__/constructor': 'evil' })],
]

/** The Info-ZIP field with the name in UTF-8, made for the name in the header. */
function unicodePath(name: string, inUtf8: string): Buffer {
  const head = Buffer.from([1, 0, 0, 0, 0])
  head.writeUInt32LE(crc32(name), 1)
  return extraField(0x7075, Buffer.concat([head, Buffer.from(inUtf8)]))
}

const CLASHES: Row[] = [
  ['a name that appears twice', pair('a/b', 'a/b'), duplicate('a/b', /twice/)],
  ['a pair of names that differ in case', pair('README', 'readme'), duplicate('readme', /case/)],
  ['a pair of folders that differ in case', pair('A/x', 'a/y'), duplicate('a/y', /case/)],
  ['a pair of names in NFC and NFD', pair('caf\u00e9', 'cafe\u0301'), duplicate('cafe\u0301', /Unicode form/)],
  ['a pair of names with \u00df and SS', pair('stra\u00dfe', 'STRASSE'), duplicate('STRASSE', /case/)],
  ['a file that is a folder too', pair('a', 'a/b'), duplicate('a/b', /file and a folder/)],
  ['a folder that is a file too', pair('a/b', 'a'), duplicate('a', /file and a folder/)],
  ['a file that has a folder entry of its name', pair('a', 'a/'), duplicate('a', /twice/)],
]

const LINKS: Row[] = [
  [
    'links that form a loop',
    () => {
      const circles: ZipEntry = { name: '', content: 'a/../'.repeat(819), mode: 0o120777 }
      return withIndex(entryOf('a/x', 'x'), ...[...Array(700).keys()].map((n) => ({ ...circles, name: `l${n}` })))
    },
    { is: 'refused', status: 400, reason: 'ARCHIVE_ENTRY_UNSAFE', metadata: {}, why: /too many steps/ },
  ],
  ['a link to an absolute path', linked('a', join(outside, 'secret.txt')), unsafe('a', /absolute/)],
  ['a link that leads out', linked('a', '../../../../secret.txt'), unsafe('a', /leaves/)],
  ['a link that leads out from a folder', linked('b/a', '../../x'), unsafe('b/a', /leaves/)],
  ['a link that goes in before it leads out', linked('a', 'b/../../x'), unsafe('a', /leaves/)],
  ['a link with back-slashes', linked('a', '..\\..\\x'), unsafe('a', /absolute/)],
  ['a link whose target has a NUL', linked('a', 'index.html\0/../..'), unsafe('a', /control character/)],
  ['a link to itself', linked('a', 'a'), unsafe('a', /link to a link/)],
  [
    'a chain of links, each of them inside',
    () => withIndex(entryOf('d/e/up', { link: '..' }), entryOf('out', { link: 'd/e/up/../..' })),
    unsafe('out', /link to a link/),
  ],
  [
    'a pair of links that lead to each other',
    () => withIndex(entryOf('a', { link: 'b' }), entryOf('b', { link: 'a' })),
    unsafe('a', /link to a link/),
  ],
  [
    'a link and then a file through it',
    () => withIndex(entryOf('d', { link: 'e' }), entryOf('d/evil', 'x')),
    unsafe('d/evil', /through a link/),
  ],
  [
    'a file and then a link in place of its folder',
    () => withIndex(entryOf('d/evil', 'x'), entryOf('d', { link: 'e' })),
    unsafe('d', /through a link/),
  ],
  [
    'a link and then a file of the same name',
    () => withIndex(entryOf('d', { link: 'e' }), entryOf('d', 'x')),
    duplicate('d', /twice/),
  ],
  ['a link with a target of 64 KiB', linked('a', 'x/'.repeat(0x8000)), unsafe('a', /too long/)],
  [
    'a link whose target inflates to 4 MiB',
    () => withIndex({ name: 'a', packed: deflateRawSync(Buffer.alloc(4 * MIB)), size: 4095, mode: 0o120777 }),
    lies('a', /more bytes/),
  ],
  [
    'a link to the folder that it is in',
    () =>
      withIndex(entryOf('docs/a.txt', 'a'), entryOf('docs/here', { link: '.' }), entryOf('docs/up', { link: '..' })),
    harmless({ '/': '<h1>', '/docs/a.txt': 'a' }),
  ],
  [
    'a link to what is not there',
    () => withIndex(entryOf('gone', { link: 'not/there' })),
    harmless({ '/': '<h1>', '/gone': 404 }),
  ],
]

const special =
  (mode: number, more: Partial<ZipEntry> = {}): (() => Buffer) =>
  () =>
    withIndex({ name: 'odd', content: '', method: 0, mode, ...more })

/** What Unix extra fields can say about a file: that it is a link to another one, or its owner. */
const UNIX_FIELDS: Record<string, (target: string) => Buffer> = {
  // Times, owner and group, then the name of what it is a link to (APPNOTE 4.5.7).
  'a field of PKWARE': (target) => extraField(0x000d, Buffer.concat([Buffer.alloc(12), Buffer.from(target)])),
  // Checksum, mode, length of the link, owner and group, then the link.
  'a field of ASi': (target) => {
    const fixed = Buffer.alloc(10)
    fixed.writeUInt16LE(0o120777, 0)
    fixed.writeUInt32LE(target.length, 2)
    const data = Buffer.concat([fixed, Buffer.from(target)])
    const sum = Buffer.alloc(4)
    sum.writeUInt32LE(crc32(data))
    return extraField(0x756e, Buffer.concat([sum, data]))
  },
}

const KINDS: Row[] = [
  ['a character device', special(0o020666), unsafe('odd', /device/)],
  ['a block device', special(0o060666), unsafe('odd', /device/)],
  ['a named pipe', special(0o010666), unsafe('odd', /pipe/)],
  ['a socket', special(0o140666), unsafe('odd', /socket/)],
  ['an unknown kind', special(0o050666), unsafe('odd', /does not fit/)],
  ['a device that claims to come from DOS', special(0o020666, { madeBy: 20 }), unsafe('odd', /device/)],
  ['a folder without a slash', special(0o040755), unsafe('odd', /does not fit/)],
  [
    'a folder with content',
    () => withIndex({ name: 'odd/', content: 'x', mode: 0o040755 }),
    unsafe('odd', /folder with content/),
  ],
  ...Object.entries(UNIX_FIELDS).map(([field, extra]): Row => {
    const target = join(outside, 'secret.txt')
    return [
      `a hard link out of the archive by ${field}`,
      () => withIndex({ name: 'hard.txt', content: 'its own', extra: extra(target) }),
      harmless({ '/hard.txt': 'its own' }),
    ]
  }),
  [
    'a program that wants to run as root',
    () => {
      const owner = extraField(0x7875, Buffer.from([1, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0]))
      const report = `
        const { mode, nlink } = require('node:fs').lstatSync('root.sh')
        return response.end(JSON.stringify([(mode & 0o7000).toString(8), mode & 0o022, nlink]))`
      const server = Object.entries(nodeServer('', report)).map(([name, content]) => entryOf(name, content))
      return writeZip([...server, { name: 'root.sh', content: '#!/bin/sh', mode: 0o107777, extra: owner }])
    },
    harmless({ '/': '["0",0,1]' }),
  ],
]

const zeros = (mebibytes: number): Buffer => Buffer.alloc(mebibytes * MIB)

/** All entries share one block of data: the directory has many entries for one local header. */
function sharedData(): Buffer {
  const first: ZipEntry = { name: 'a', content: zeros(1) }
  return writeZip([first, ...Array.from({ length: 20 }, () => ({ ...first, isOnlyInDirectory: true, offset: 0 }))])
}

/**
 * A bomb in which the data of each file begins with a stored block, which quotes the header of the next file, and goes on
 * as the data of that. Every header and every checksum is true.
 */
function quotedByData(): Buffer {
  const kernel = zeros(1)
  let next: ZipEntry = { name: 'f9', content: kernel }
  let content = kernel
  let compressedSize = deflateRawSync(kernel).length
  const entries = [next]
  for (let number = 8; number >= 0; number--) {
    const quoted = headerOf(next)
    const block = Buffer.from([0, quoted.length, 0, ~quoted.length & 0xff, 0xff])
    content = Buffer.concat([quoted, content])
    compressedSize += block.length + quoted.length
    next = { name: `f${number}`, packed: block, crc32: crc32(content), size: content.length, compressedSize }
    entries.unshift(next)
  }
  return writeZip(entries)
}

/** The same with the headers quoted by a field of the header before, so that the data is shared by both. */
function quotedByField(): Buffer {
  const inner: ZipEntry = { name: 'inner', content: zeros(1) }
  const field = extraField(0x9999, headerOf(inner))
  return writeZip([
    { name: 'outer', content: zeros(1), local: { extra: field } },
    { ...inner, isOnlyInDirectory: true, offset: 30 + 'outer'.length + 4 },
  ])
}

const onion = zipOf({ 'a.zip': zipOf({ 'b.zip': zipOf({ 'zeros.bin': zeros(60) }) }) })

const BOMBS: Row[] = [
  ['a bomb of one file', () => withIndex(entryOf('zeros.bin', zeros(65))), tooLarge('unpackedBytes', 'zeros.bin')],
  [
    'a bomb of many files',
    () => withIndex(...[...Array(9).keys()].map((number) => entryOf(`${number}.bin`, zeros(8)))),
    tooLarge('unpackedBytes', '7.bin'),
  ],
  ['a bomb of files that are one', sharedData, unsafe('a', /overlaps/)],
  ['a bomb of files that quote the next header as data', quotedByData, unsafe('f1', /overlaps/)],
  ['a bomb of files that quote the next header as a field', quotedByField, unsafe('inner', /overlaps/)],
  [
    'a file that has another one in it',
    () => {
      const odd: ZipEntry = { name: 'odd', content: 'inside', method: 0 }
      const outer: ZipEntry = { name: 'outer', content: writeZip([odd]), method: 0 }
      return writeZip([outer, { ...odd, isOnlyInDirectory: true, offset: headerOf(outer).length }])
    },
    unsafe('odd', /overlaps/),
  ],
  [
    'a file that is smaller packed than deflate can make it',
    () => withIndex({ name: 'liar', packed: Buffer.alloc(100), size: 100 * 1033 }),
    lies('liar', /larger than deflate/),
  ],
  [
    'a file that inflates to more than it says',
    () => withIndex({ name: 'liar', packed: deflateRawSync(zeros(60)), size: 100_000 }),
    foundOut('liar'),
  ],
  [
    'a large file that inflates to more than it says',
    () => withIndex({ name: 'liar', packed: deflateRawSync(zeros(60)), size: MIB }),
    foundOut('liar'),
  ],
  [
    'a package.json that inflates to more than it says',
    () => writeZip([{ name: 'package.json', packed: deflateRawSync(zeros(60)), size: 100_000 }]),
    foundOut('package.json'),
  ],
  [
    'a bomb inside of nested zips, which are not opened',
    () => withIndex(entryOf('onion.zip', onion)),
    harmless({ '/onion.zip': onion }),
  ],
  [
    'a file of zeros that is as large as it says',
    () => withIndex(entryOf('zeros.bin', zeros(16))),
    harmless({ '/': '<h1>' }),
  ],
]

const descriptor = (...values: number[]): Buffer => Buffer.from(Uint32Array.from([0x08074b50, ...values]).buffer)
const sized = { crc32: 0, size: 0, compressedSize: 0 }

const LIES: Row[] = [
  [
    'a stored file of two sizes',
    () => withIndex({ name: 'l', content: 'x', method: 0, size: 2 }),
    lies('l', /two sizes/),
  ],
  ['headers of two sizes', () => withIndex({ name: 'l', content: 'x', local: { size: 9 } }), lies('l', /two sizes/)],
  [
    'headers of two packed sizes',
    () => withIndex({ name: 'l', content: 'x', local: { compressedSize: 9 } }),
    lies('l', /two sizes/),
  ],
  [
    'headers of two checksums',
    () => withIndex({ name: 'l', content: 'x', local: { crc32: 9 } }),
    lies('l', /two sizes/),
  ],
  [
    'data that goes on into the directory',
    () => withIndex({ name: 'l', content: 'x', method: 0, size: 40, compressedSize: 40 }),
    lies('l', /into the directory/),
  ],
  [
    'data that goes on behind the end of the file',
    () => withIndex({ name: 'l', content: 'x', method: 0, size: 1e6, compressedSize: 1e6 }),
    lies('l', /into the directory/),
  ],
  [
    'headers of two names',
    () => withIndex({ name: 'a', content: 'x', local: { name: 'b' } }),
    unsafe('a', /two names/),
  ],
  [
    'a name that is good in the directory only',
    () => withIndex({ name: 'aaaaaaa', content: 'x', local: { name: '../evil' } }),
    unsafe('aaaaaaa', /two names/),
  ],
  [
    'headers of two methods',
    () => withIndex({ name: 'a', content: 'x', local: { method: 0 } }),
    unsafe('a', /methods/),
  ],
  [
    'a header that is encrypted in front of the data only',
    () => withIndex({ name: 'a', content: 'x', local: { flags: 0x801 } }),
    unsafe('a', /flags/),
  ],
  ['a checksum that is wrong', () => withIndex({ name: 'l', content: 'x', crc32: 9 }), foundOut('l')],
  [
    'a stored file with a wrong checksum',
    () => withIndex({ name: 'l', content: 'x', method: 0, crc32: 9 }),
    foundOut('l'),
  ],
  [
    'data that is not deflated',
    () => withIndex({ name: 'l', packed: Buffer.alloc(99, 0xff), size: 99 }),
    foundOut('l'),
  ],
  [
    'data that breaks off',
    () => withIndex({ name: 'l', content: 'x'.repeat(500), packed: deflateRawSync('x'.repeat(500)).subarray(0, -3) }),
    foundOut('l'),
  ],
  [
    'sizes behind the data, and others in the directory',
    () => withIndex({ name: 'l', content: 'xyz', flags: 0x808, local: sized, central: { size: 2 } }),
    foundOut('l'),
  ],
  [
    'sizes behind the data that are not true',
    () =>
      writeZip([
        { name: 'a.txt', content: 'as it is', flags: 0x808, local: { crc32: 7, size: 7, compressedSize: 7 } },
        { ...INDEX, gap: descriptor(0xffffffff, 0xffffffff, 0xffffffff) },
      ]),
    harmless({ '/': '<h1>', '/a.txt': 'as it is' }),
  ],
]

const ENCRYPTED: Row[] = [
  [
    'an encrypted file',
    () => withIndex({ name: 's', packed: Buffer.alloc(13), size: 1, flags: 0x801 }),
    encrypted('s'),
  ],
  ['a strongly encrypted file', () => withIndex({ name: 's', content: 'x', flags: 0x841 }), encrypted('s')],
  [
    'a file encrypted by AES',
    () => {
      const extra = extraField(0x9901, Buffer.from([2, 0, 0x41, 0x45, 3, 8, 0]))
      return withIndex({ name: 's', packed: Buffer.alloc(30), size: 2, flags: 0x801, method: 99, extra })
    },
    encrypted('s'),
  ],
  ['a file whose header is masked', () => withIndex({ name: 's', content: 'x', flags: 0x2800 }), encrypted('s')],
]

const METHODS: Row[] = Object.entries({
  implode: 6,
  deflate64: 9,
  bzip2: 12,
  LZMA: 14,
  zstd: 93,
  XZ: 95,
  PPMd: 98,
}).map(([how, method]) => [
  `a file packed by ${how}`,
  () => withIndex({ name: 'odd', packed: Buffer.from('xyz'), size: 3, method }),
  unsafe('odd', /compression method/),
])

const HUGE = 2n ** 64n - 1n
const ofSize = (size: bigint): ZipEntry => ({
  ...{ name: 'giant', content: '', method: 0 },
  central: { size: 0xffffffff, compressedSize: 0xffffffff, extra: zip64Field(size, size) },
})
const manyEntries = Array.from({ length: 100_000 }, (_, number) => ({ name: `${number}`, method: 0 }))

const EXTREMES: Row[] = [
  ['100,000 entries', () => writeZip(manyEntries, { entries: 0xffff, zip64: {} }), tooLarge('entries')],
  [
    '100,000 entries, counted in a field that is too small',
    () => writeZip(manyEntries, { entries: 100_000 & 0xffff }),
    notZip(/directory/),
  ],
  [
    'names with more folders than entries are allowed',
    () => writeZip([...Array(600).keys()].map((number) => ({ name: `${number}/${'d/'.repeat(100)}a`, method: 0 }))),
    tooLarge('entries'),
  ],
  ['a count of 2^63 entries', ending({ entries: 0xffff, zip64: { entries: 2n ** 63n } }), tooLarge('entries')],
  ['a count of 2^64 - 1 entries', ending({ entries: 0xffff, zip64: { entries: HUGE } }), tooLarge('entries')],
  ['a count of one entry more than there is', ending({ entries: 2 }), notZip(/directory/)],
  [
    'a count of one entry less than there is',
    () => writeZip([INDEX, entryOf('b', 'b')], { entries: 1 }),
    notZip(/size/),
  ],
  ['a size of 2^63', () => withIndex(ofSize(2n ** 63n)), tooLarge('unpackedBytes', 'giant')],
  ['a size of 2^64 - 1', () => withIndex(ofSize(HUGE)), tooLarge('unpackedBytes', 'giant')],
  [
    'two sizes whose sum is 2^64',
    () => withIndex(ofSize(2n ** 63n), { ...ofSize(2n ** 63n), name: 'other' }),
    tooLarge('unpackedBytes', 'giant'),
  ],
  [
    'a size of 2^63 for one byte of data',
    () => withIndex({ name: 'giant', content: 'x', central: { size: 0xffffffff, extra: zip64Field(2n ** 63n) } }),
    lies('giant', /larger than deflate/),
  ],
  [
    'an offset of 2^64 - 1',
    () => withIndex({ name: 'far', content: 'x', central: { offset: 0xffffffff, extra: zip64Field(HUGE) } }),
    notZip(/not where/),
  ],
  ['a directory at 2^63', ending({ zip64: { directoryOffset: 2n ** 63n } }), notZip(/not where/)],
  ['a directory of 2^64 - 1 bytes', ending({ zip64: { directorySize: HUGE } }), notZip(/not where/)],
  ['a zip64 record at 2^64 - 1', ending({ zip64: { recordOffset: HUGE } }), notZip(/zip64/)],
  ['a zip64 record of 2^64 - 1 bytes', ending({ zip64: { recordSize: HUGE } }), notZip(/zip64/)],
  [
    'a field that is longer than all of them',
    () => withIndex({ name: 'x', content: 'x', central: { extra: Buffer.from([1, 0, 0xff, 0xff]) } }),
    notZip(/damaged/),
  ],
]

const WHOLE = zipOf({ 'index.html': '<h1>', 'a.txt': 'some text' })
const cut = (bytes: number) => () => WHOLE.subarray(0, bytes)

const CUTS: Row[] = [
  ['a file without a byte', cut(0), notZip(/no end record/)],
  ['a zip that ends in its first header', cut(20), notZip(/no end record/)],
  ['a zip that ends in its data', cut(45), notZip(/no end record/)],
  ['a zip that ends before its directory', cut(directoryStart(WHOLE)), notZip(/no end record/)],
  ['a zip that ends in its directory', cut(directoryStart(WHOLE) + 30), notZip(/no end record/)],
  ['a zip that ends before its end record', cut(WHOLE.length - 22), notZip(/no end record/)],
  ['a zip that ends one byte early', cut(WHOLE.length - 1), notZip(/no end record/)],
  ['a zip whose beginning is cut off', () => WHOLE.subarray(10), notZip(/not where/)],
  [
    'a zip whose middle is cut out',
    () => Buffer.concat([WHOLE.subarray(0, 40), WHOLE.subarray(60)]),
    notZip(/not where/),
  ],
]

/** An archive whose comment is a second directory with an end of its own: two archives with other pages. */
function directoryInComment(): Buffer {
  const shared = entryOf('shared.txt', 'shared')
  const [first, second] = [entryOf('index.html', 'first'), entryOf('index.html', 'second')]
  const outer = writeZip([shared, first])
  const inner = writeZip([shared, { ...second, gap: withoutDirectory(first) }])
  const data = inner.subarray(0, directoryStart(inner))
  const outerEnd = Buffer.from(outer.subarray(directoryStart(outer)))
  const innerEnd = Buffer.from(inner.subarray(directoryStart(inner)))
  outerEnd.writeUInt32LE(data.length, outerEnd.length - 6)
  outerEnd.writeUInt16LE(innerEnd.length, outerEnd.length - 2)
  innerEnd.writeUInt32LE(data.length + outerEnd.length, innerEnd.length - 6)
  return Buffer.concat([data, outerEnd, innerEnd])
}

const EMPTY_ZIP = writeZip([])

const AROUND: Row[] = [
  ['a program that unpacks itself', () => Buffer.concat([Buffer.from('MZ\x90\0'), WHOLE]), notZip(/not where/)],
  [
    'a program that unpacks itself, and whose offsets know of it',
    () => writeZip([{ ...INDEX, gap: Buffer.from('#!/bin/sh\n') }]),
    notZip(/before its first entry/),
  ],
  ['a zip with something behind it', () => Buffer.concat([WHOLE, Buffer.from('x')]), notZip(/after its end/)],
  ['a zip behind a zip', () => Buffer.concat([WHOLE, WHOLE]), notZip(/not where/)],
  ['a gap between the directory and its end', ending({ gap: Buffer.alloc(9) }), notZip(/not where/)],
  ['a comment that is declared longer than it is', ending({ commentLength: 9 }), notZip(/after its end/)],
  ['a comment with the end of an empty zip', ending({ comment: EMPTY_ZIP.toString('latin1') }), notZip(/not where/)],
  [
    'a comment with the beginning of an end',
    ending({ comment: `PK\x05\x06${'\0'.repeat(30)}` }),
    notZip(/after its end/),
  ],
  ['a comment with a directory, of which the last counts', directoryInComment, harmless({ '/': 'second' })],
  ['a comment of 64 KiB', ending({ comment: 'x'.repeat(0xffff) }), harmless({ '/': '<h1>' })],
  [
    'an entry that the directory does not know of',
    () => writeZip([INDEX, { ...entryOf('a.txt', 'a'), gap: withoutDirectory(entryOf('hidden.html', 'evil')) }]),
    harmless({ '/': '<h1>', '/a.txt': 'a', '/hidden.html': 404 }),
  ],
  ['the second disk of several', ending({ disk: 1 }), notZip(/several disks/)],
  ['a directory on the second disk', ending({ directoryDisk: 1 }), notZip(/several disks/)],
  ['a zip64 end on the second disk', ending({ zip64: { disk: 1 } }), notZip(/several disks/)],
  ['a zip64 end of seven disks', ending({ zip64: { disks: 7 } }), notZip(/several disks/)],
  ['the last part of a split zip', ending({ disk: 2, directoryDisk: 2, entriesOnDisk: 0 }), notZip(/several disks/)],
  [
    'the first part of a split zip',
    () => Buffer.concat([Buffer.from('PK\x07\x08'), WHOLE.subarray(0, 60)]),
    notZip(/no end record/),
  ],
  [
    'a split zip in one part, with the mark of one',
    () => writeZip([{ ...INDEX, gap: Buffer.from('PK00') }]),
    notZip(/before its first entry/),
  ],
  [
    'an entry that is declared to be on another disk',
    () => withIndex({ name: 'a.txt', content: 'a', disk: 9 }),
    harmless({ '/a.txt': 'a' }),
  ],
  [
    'an entry in a place without a header',
    () =>
      withIndex({
        name: 'a',
        content: 'a',
        gap: Buffer.alloc(40),
        central: { offset: withoutDirectory(INDEX).length },
      }),
    notZip(/not where/),
  ],
]

const NOTHINGS: Row[] = [
  ['an empty zip', () => EMPTY_ZIP, empty],
  ['an empty zip with a comment', () => writeZip([], { comment: 'nothing' }), empty],
  ['a zip of folders alone', () => zipOf({ 'a/': '', 'a/b/': '' }), empty],
  ['a zip of a link alone', () => zipOf({ a: { link: 'b' } }), empty],
  ['a zip of node_modules alone', () => zipOf({ 'node_modules/a/index.js': 'x' }), empty],
  ['a text', () => Buffer.from('this is no zip'), notZip(/no end record/)],
  ['a file of no bytes in a zip', () => withIndex(entryOf('none.txt', '')), harmless({ '/none.txt': '' })],
  [
    'a file of no bytes, deflated to none',
    () => withIndex({ name: 'none.txt', packed: Buffer.alloc(0) }),
    harmless({ '/none.txt': '' }),
  ],
]

const SUITES: Record<string, Row[]> = {
  'names that lead out of the archive': NAMES,
  'names that clash': CLASHES,
  links: LINKS,
  'kinds other than files': KINDS,
  bombs: BOMBS,
  'headers that lie': LIES,
  encryption: ENCRYPTED,
  'other methods': METHODS,
  'numbers that are too large': EXTREMES,
  'zips that are cut': CUTS,
  'bytes around a zip': AROUND,
  'zips with nothing in them': NOTHINGS,
}

const ENDS = {
  refused: 'is refused',
  'found out': 'is detected when it is unpacked, and never goes live',
  harmless: 'is accepted and harmless',
}

type Live = Extract<Expected, { is: 'harmless' }>['site']
/** The responses of the open environment's site, according to the last accepted archive. */
let live: Live = { '/': '<h1>' }

async function siteIs(site: Live) {
  for (const [path, expected] of Object.entries(site)) {
    const { status, text } = await siteAnswer(service, open.url, path)
    assert.ok(!text.includes(SECRET), path)
    if (typeof expected === 'number') assert.equal(status, expected, path)
    else assert.deepEqual([status, text], [200, expected.toString()], path)
  }
}

async function isRefused(zip: Buffer, { status, reason, metadata, why }: Extract<Expected, { is: 'refused' }>) {
  const answer = await upload(service, as, wary.name, zip)
  assert.deepEqual([answer.status, answer.reason], [status, reason], answer.text)
  const [info] = answer.json.error.details
  assert.deepEqual({ ...info.metadata, ...metadata }, info.metadata)
  if (why) assert.match(info.metadata.why, why)
  if (metadata.entry && status === 400) assert.ok(answer.json.error.message.startsWith(metadata.entry), answer.text)
  assert.deepEqual(await drafts(), [])
}

async function isFoundOut(zip: Buffer, { reason, entry }: Extract<Expected, { is: 'found out' }>) {
  const done = await deploy(service, as, open.name, zip)
  assert.equal(reasonOf(done), reason, JSON.stringify(done))
  assert.match(JSON.stringify(done.error?.details), new RegExp(`"entry":"${entry}"`))
  await siteIs(live)
}

async function isHarmless(zip: Buffer, { site }: Extract<Expected, { is: 'harmless' }>) {
  const done = await deploy(service, as, open.name, zip)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  live = site
  await siteIs(live)
}

const drafts = (): Promise<string[]> => readdir(join(dataDir, 'blobs', 'aside'))

/** A field of the kernel's record of the service, in MiB. */
async function memory(field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const [, kilobytes] =
    new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(await readFile(`/proc/${service.controlPid()}/status`, 'utf8')) ??
    []
  return Math.round(Number(kilobytes) / 1024)
}

assert.equal((await deploy(service, as, open.name, writeZip([INDEX]))).error, undefined)
const memoryBefore = await memory('VmRSS')

for (const [what, rows] of Object.entries(SUITES)) {
  suite(what, () => {
    for (const [sentence, zip, expected] of rows) {
      test(`${sentence} ${ENDS[expected.is]}`, async () => {
        if (expected.is === 'refused') await isRefused(zip(), expected)
        else if (expected.is === 'found out') await isFoundOut(zip(), expected)
        else await isHarmless(zip(), expected)
      })
    }
  })
}

suite('after all of them', () => {
  test('no upload that was refused has left a build or an operation', async () => {
    const { json: builds } = await service.call(`/v1/${wary.name}/builds`, { as })
    assert.deepEqual(builds.builds, [])
    const { json: operations } = await service.call(`/v1/${wary.name}/operations`, { as })
    assert.deepEqual(
      operations.operations.map(({ metadata }: resources.Operation) => metadata.trigger),
      ['CREATE'],
    )
  })

  test('nothing half-written stays in the data folder', async () => {
    const works = async () => {
      const found: string[] = []
      for (const id of await readdir(join(dataDir, 'environments'))) {
        found.push(...(await readdir(join(dataDir, 'environments', id, 'work')).catch(() => [])))
      }
      return found
    }
    // A work folder is removed after its build has ended; the operation does not wait for that.
    await until(async () => [...(await drafts()), ...(await works())].length === 0).catch(() => undefined)
    assert.deepEqual([await drafts(), await works()], [[], []])
  })

  test('nothing was created around the data folder', async () => {
    assert.deepEqual([(await readdir(outside)).sort(), await readdir(around)], [['around', 'secret.txt'], ['data']])
    assert.equal(await readFile(join(outside, 'secret.txt'), 'utf8'), SECRET)
    const all = await readdir(dataDir, { recursive: true, withFileTypes: true })
    assert.deepEqual(
      all.filter((entry) => /evil|secret\.txt/.test(entry.name)).map(({ name }) => name),
      [],
    )
    assert.deepEqual(
      all
        .filter((entry) => entry.isFIFO() || entry.isBlockDevice() || entry.isCharacterDevice())
        .map(({ name }) => name),
      [],
    )
  })

  test('the service logs none of it as a fault of its own', () => {
    assert.doesNotMatch(service.log(), /"level":"(error|fatal)"/)
  })

  test('the memory of the service has hardly grown', async (t) => {
    const [now, peak] = [await memory('VmRSS'), await memory('VmHWM')]
    t.diagnostic(`${memoryBefore} MiB before, ${now} MiB after, ${peak} MiB at most`)
    assert.ok(now - memoryBefore < MAX_GROWTH_MEBIBYTES, `it grew from ${memoryBefore} to ${now} MiB`)
  })

  test('a good upload still goes live, also in the environment that refused all others', async () => {
    for (const { name, url } of [wary, open]) {
      const asked = await upload(service, as, name, page('as ever'))
      assert.equal(asked.status, 200, asked.text)
      assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
      assert.match((await siteAnswer(service, url)).text, /as ever/)
    }
    assert.equal((await service.call('/v1/accounts', { as })).status, 200)
  })
})

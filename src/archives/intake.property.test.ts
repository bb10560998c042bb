/**
 * Random archives. A changed zip is refused with a problem of the closed table, or it is unpacked to exactly what its
 * directory lists, inside its folder and within the limits. A minimal reader in test/support lists the directory.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { zipSync } from 'fflate'
import { ZipFile } from 'yazl'
import { temporaryFolder } from '../../test/support/folder.ts'
import { holds, NASTY } from '../../test/support/fuzz.ts'
import { extraField, writeZip, type ZipEnd, type ZipEntry, zip64Field } from '../../test/support/zip.ts'
import { declaredFiles, type Files } from '../../test/support/zip-reader.ts'
import { PROBLEMS, Problem } from '../contract/index.ts'
import type { Blobs, Digest } from '../storage/index.ts'
import { type ArchiveLimits, createArchives, DEFAULT_ARCHIVE_LIMITS } from './index.ts'
import { fold } from './names.ts'

const LIMITS: ArchiveLimits = { ...DEFAULT_ARCHIVE_LIMITS, entries: 40, unpackedBytes: 200_000, pathBytes: 300 }
const DIGEST = 'any' as Digest

/** A folder to unpack into, with a folder on each side of it that must not change. */
async function workbench(t: TestContext, limits = LIMITS) {
  const top = await temporaryFolder(t)
  const inner = join(top, 'inner')
  await mkdir(inner)
  await writeFile(join(top, 'beside'), 'beside')
  await writeFile(join(inner, 'beside'), 'beside')
  const path = join(top, 'archive.zip')
  const blobs = { withFile: (_, use) => use(path) } as Partial<Blobs> as Blobs
  const archives = createArchives({ blobs, limits })

  return {
    top,
    /** The files that were unpacked, or the problem. */
    async unpack(zip: Buffer): Promise<Files | Problem> {
      await writeFile(path, zip)
      const folder = join(inner, 'app')
      try {
        const unpacked = await archives.unpack(DIGEST, folder)
        const { files, bytes } = unpacked
        assert.ok(bytes <= limits.unpackedBytes && files <= limits.entries)
        const seen = await archives.look(DIGEST, async (inside) => inside.files)
        const tree = await treeOf(folder)
        assert.deepEqual(
          seen,
          Object.keys(tree)
            .filter((name) => !name.endsWith('/'))
            .sort(),
        )
        return tree
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        assert.deepEqual(existsSync(folder), false, 'a refused archive leaves nothing')
        return error
      } finally {
        await rm(folder, { recursive: true, force: true })
        assert.deepEqual((await readdir(top)).sort(), ['archive.zip', 'beside', 'inner'])
        assert.deepEqual(await readdir(inner), ['beside'])
        for (const folder of [top, inner]) assert.equal(await readFile(join(folder, 'beside'), 'utf8'), 'beside')
      }
    },
  }
}

async function treeOf(folder: string): Promise<Files> {
  const tree: Files = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(folder.length + 1)
    if (entry.isDirectory()) tree[`${name}/`] = ''
    else if (entry.isSymbolicLink()) tree[name] = `-> ${await readlink(path)}`
    else tree[name] = await readFile(path, 'latin1')
  }
  return tree
}

/** Whether it was unpacked. */
async function isTrueOrRefused(bench: Awaited<ReturnType<typeof workbench>>, zip: Buffer): Promise<boolean> {
  const came = await bench.unpack(zip)
  if (!(came instanceof Problem)) {
    assert.deepEqual(came, await declaredFiles(zip))
    const names = Object.keys(came)
    assert.equal(new Set(names.map(fold)).size, names.length, 'no two names are one to any file system')
    for (const [name, content] of Object.entries(came)) {
      if (!content.startsWith('-> ')) continue
      const leadsTo = posix.join('/top', dirname(name), content.slice(3))
      assert.ok(content[3] !== '/' && `${leadsTo}/`.startsWith('/top/'), `${name} ${content} leads out`)
    }
    return true
  }
  assert.ok(came.reason in PROBLEMS && came.reason.startsWith('ARCHIVE_'), came.reason)
  assert.ok(!/[\p{Cc}\u2028\u2029\u202e]/u.test(came.message), 'the message has no control characters')
  return false
}

const segment = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.stringMatching(/^[a-zA-Z0-9_. @-]{1,8}$/).filter((name) => !/^(?:\.{1,2}|-)$/.test(name)),
  },
  { weight: 2, arbitrary: fc.constantFrom('é', 'e\u0301', 'ß', '日本', '😀', 'Ω', '.env', 'node_modules', '.git') },
)
const content = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.noBias(fc.integer({ min: 0, max: 5000 })).map((length) => Buffer.alloc(length, 'all work and no play ')),
)

/** Files in folders whose names differ on every file system. */
const files: fc.Arbitrary<Map<string, Buffer>> = fc
  .array(fc.tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), content), { minLength: 1, maxLength: 12 })
  .map((list) => {
    const kept = new Map<string, Buffer>([['package.json', Buffer.from('{}')]])
    const spellings = new Map<string, string>([['package.json', 'package.json']])
    for (const [segments, bytes] of list) {
      const steps = segments.map((_, depth) => segments.slice(0, depth + 1).join('/'))
      const isFree = steps.every((step, depth) => {
        const known = spellings.get(fold(step))
        return known === undefined || (known === step && depth < steps.length - 1 && !kept.has(step))
      })
      if (!isFree) continue
      for (const step of steps) spellings.set(fold(step), step)
      kept.set(segments.join('/'), bytes)
    }
    return kept
  })

type Writer = (given: Map<string, Buffer>, folder: string) => Promise<Buffer> | Buffer

const WRITERS: Record<string, Writer> = {
  ours: (given) => writeZip([...given].map(([name, content], n) => ({ name, content, method: n % 2 ? 0 : 8 }))),
  fflate: (given) => Buffer.from(zipSync(Object.fromEntries(given))),
  async yazl(given) {
    const zip = new ZipFile()
    for (const [name, bytes] of given) zip.addBuffer(bytes, name, { compress: bytes.length % 2 === 0 })
    zip.end({ forceZip64Format: given.size % 2 === 0, comment: given.size % 3 === 0 ? 'a comment' : '' })
    return await buffer(zip.outputStream)
  },
  // It takes a folder named `-` for its standard input.
  async 'the program zip'(given, folder) {
    const source = join(folder, 'source')
    for (const [name, bytes] of given) {
      await mkdir(dirname(join(source, name)), { recursive: true })
      await writeFile(join(source, name), bytes)
    }
    try {
      return execFileSync('zip', ['-q', '-r', '-', '.'], { cwd: source, stdio: ['ignore', 'pipe', 'inherit'] })
    } finally {
      await rm(source, { recursive: true })
    }
  },
}

const hasZip = process.env.PATH?.split(':').some((folder) => existsSync(join(folder, 'zip')))

for (const [name, write] of Object.entries(WRITERS)) {
  const skip = name === 'the program zip' && !hasZip && 'there is none'
  test(`any tree of files comes out of a zip by ${name} as it went in`, { skip }, async (t) => {
    const bench = await workbench(t, { ...LIMITS, entries: 200 })
    const elsewhere = await temporaryFolder(t)
    await holds(
      fc.asyncProperty(files, async (given) => {
        const came = await bench.unpack(await write(given, elsewhere))
        const kept = [...given].filter(([path]) => !/(^|\/)(node_modules|\.git)(\/|$)/.test(path))
        // A file may have any name, also one by which an object is made a string.
        if (came instanceof Problem) throw came
        assert.deepEqual(
          Object.fromEntries(Object.entries(came).filter(([path]) => !path.endsWith('/'))),
          Object.fromEntries(kept.map(([path, bytes]) => [path, bytes.toString('latin1')])),
        )
      }),
      12,
    )
  })
}

/** A change of a zip: bytes anywhere, its length, or data before and after it. */
type Change = { kind: 'set' | 'drop' | 'insert' | 'cut' | 'before' | 'behind'; at: number; bytes: Uint8Array }

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('set', 'set', 'set', 'set', 'drop', 'insert', 'cut', 'before', 'behind'),
  at: fc.noBias(fc.double({ min: 0, max: 1, noNaN: true })),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 4 }),
    fc.constantFrom(...[0x04034b50, 0x02014b50, 0x06054b50, 0x07064b50, 0xffffffff].map(toBytes)),
  ),
})

function toBytes(number: number): Uint8Array {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(number)
  return bytes
}

function changed(zip: Buffer, { kind, at, bytes }: Change): Buffer {
  // Half of them near the end, where the directory is.
  const place = Math.floor((at < 0.5 ? at * 2 : 1 - (1 - at) ** 2) * zip.length)
  const [head, tail] = [zip.subarray(0, place), zip.subarray(place)]
  switch (kind) {
    case 'set':
      return Buffer.concat([head, bytes, tail.subarray(bytes.length)]).subarray(0, Math.max(zip.length, 1))
    case 'drop':
      return Buffer.concat([head, tail.subarray(bytes.length)])
    case 'insert':
      return Buffer.concat([head, bytes, tail])
    case 'cut':
      return head
    case 'before':
      return Buffer.concat([bytes, zip])
    case 'behind':
      return Buffer.concat([zip, bytes])
  }
}

test('a zip with bytes changed anywhere is refused, or comes out as its directory says', async (t) => {
  const bench = await workbench(t)
  const writers = fc.constantFrom(...['ours', 'fflate', 'yazl'].map((name) => WRITERS[name] as Writer))
  await holds(
    fc.asyncProperty(
      files,
      writers,
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (given, write, changes) =>
        void (await isTrueOrRefused(bench, changes.reduce(changed, await write(given, '')))),
    ),
    120,
  )
})

test('a zip with one bit turned anywhere is refused, or comes out as its directory says', async (t) => {
  const bench = await workbench(t)
  const anywhere = fc.noBias(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }))
  const bit = fc.noBias(fc.nat({ max: 7 }))
  await holds(
    fc.asyncProperty(files, anywhere, bit, async (given, place, bit) => {
      const zip = writeZip([...given].map(([name, content]) => ({ name, content, method: 0 })))
      const at = Math.floor(place * zip.length)
      zip[at] = (zip[at] as number) ^ (1 << bit)
      await isTrueOrRefused(bench, zip)
    }),
    100,
  )
})

const oddName = fc.oneof(
  fc
    .array(fc.oneof(segment, fc.constantFrom(...NASTY, 'a', 'A', 'b', '.')), { minLength: 1, maxLength: 5 })
    .map((all) => all.join('/')),
  fc.constantFrom(
    '../out',
    '/etc/passwd',
    'a/../../out',
    'C:\\x',
    'a\0b',
    'a\\..\\b',
    'package.JSON',
    'DIR/x',
    'dir/x',
    'a/',
    './a',
    'a//b',
  ),
  fc.uint8Array({ minLength: 1, maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  fc.integer({ min: 100, max: 160 }).map((depth) => 'a/'.repeat(depth)),
)
const number32 = fc.oneof(fc.constantFrom(0, 1, 22, 0xffff, 0x10000, 0xfffffffe, 0xffffffff), fc.nat({ max: 3000 }))
const mode = fc.constantFrom(0o100644, 0o100755, 0o040755, 0o120777, 0o010644, 0o020644, 0o140644, 0o160000, 0)
const lie = fc.record(
  {
    name: oddName,
    flags: fc.constantFrom(0, 1, 1 << 3, 1 << 6, 1 << 11, 1 << 13, (1 << 3) | (1 << 11)),
    method: fc.constantFrom(0, 8, 8, 9, 12, 99),
    crc32: number32,
    compressedSize: number32,
    size: number32,
    offset: number32,
    disk: fc.constantFrom(0, 1, 0xffff),
    extra: fc.oneof(
      fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 4 }).map((values) => zip64Field(...values)),
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
      oddName.map((name) => extraField(0x7075, Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), Buffer.from(name)]))),
    ),
    comment: fc.constantFrom('', 'PK\x05\x06', 'a comment'),
  },
  { requiredKeys: [] },
)
const liar: fc.Arbitrary<ZipEntry> = fc
  .record(
    {
      name: oddName,
      content: fc.oneof(
        content,
        fc.constantFrom('package.json', '../beside', '/etc/passwd', 'a', 'a/b', '.', '..', 'dir/../package.json'),
      ),
      mode,
      method: fc.constantFrom(0, 8),
      gap: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
      isOnlyInDirectory: fc.boolean(),
      local: lie,
      central: lie,
    },
    { requiredKeys: ['name'] },
  )
  // Mostly one false field at a time, since several would hide each other.
  .chain((all) => {
    const keys = Object.keys(all) as (keyof ZipEntry)[]
    return fc.shuffledSubarray(keys, { maxLength: Math.min(3, keys.length) }).map((kept) => pick(all, kept))
  })

const link: fc.Arbitrary<ZipEntry> = fc.record({
  name: fc.constantFrom('link', 'dir/link', 'dir/deep/link', 'dir'),
  content: fc
    .array(fc.constantFrom('..', '.', 'dir', 'file', 'package.json', ''), { maxLength: 5 })
    .map((steps) => steps.join('/')),
  mode: fc.constant(0o120777),
  method: fc.constant(0),
})
const entry = fc.oneof({ weight: 3, arbitrary: liar }, { weight: 1, arbitrary: link })

function pick(all: ZipEntry, kept: (keyof ZipEntry)[]): ZipEntry {
  return { name: all.name, ...Object.fromEntries(kept.map((key) => [key, all[key]])) }
}

const big = fc.oneof(
  fc.constantFrom(0n, 1n, 44n, 2n ** 32n, 2n ** 53n, 2n ** 64n - 1n),
  fc.bigInt({ min: 0n, max: 5000n }),
)
const end: fc.Arbitrary<Partial<ZipEnd>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        entries: fc.nat({ max: 70 }),
        directorySize: number32,
        directoryOffset: number32,
        comment: fc.constantFrom('', 'PK\x05\x06', 'PK\x05\x06'.padEnd(22, '\0'), 'x'.repeat(70)),
        commentLength: fc.nat({ max: 80 }),
        zip64: fc.record(
          {
            recordSize: big,
            entries: big,
            directorySize: big,
            directoryOffset: big,
            recordOffset: big,
            disks: fc.nat(3),
          },
          { requiredKeys: [] },
        ),
        gap: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
      },
      { requiredKeys: [] },
    ),
  },
)

test('a zip whose headers lie is refused, or comes out as its directory says', async (t) => {
  const bench = await workbench(t)
  const honest: ZipEntry[] = [
    { name: 'package.json', content: '{}' },
    { name: 'dir/file', content: 'file' },
  ]
  let unpacked = 0
  await holds(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 4 }),
      fc.boolean(),
      fc.array(fc.nat({ max: 5 }), { maxLength: 2 }),
      end,
      async (entries, isFirst, again, headers) => {
        const mixed = isFirst ? [...entries, ...honest] : [...honest, ...entries]
        const all = [...mixed, ...again.flatMap((n) => mixed[n] ?? [])]
        if (await isTrueOrRefused(bench, writeZip(all, headers))) unpacked++
      },
    ),
    150,
  )
  assert.ok(unpacked > 0, 'where everything is refused nothing is shown')
})

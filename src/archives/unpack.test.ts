import assert from 'node:assert/strict'
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { temporaryFolder } from '../../test/support/folder.ts'
import { writeZip, type ZipEntry, zipOf } from '../../test/support/zip.ts'
import { openDiskBlobs } from '../storage/blobs/blobs-disk.ts'
import type { Blobs, Digest } from '../storage/index.ts'
import { type ArchiveLimits, type Archives, createArchives, DEFAULT_ARCHIVE_LIMITS } from './index.ts'
import { select } from './select.ts'

/** An archive that was stored without `receive`, so it may have what `receive` refuses. */
async function stored(t: TestContext, zip: Buffer, limits: Partial<ArchiveLimits> = {}) {
  const top = await temporaryFolder(t)
  const blobs: Blobs = await openDiskBlobs(join(top, 'blobs'))
  const { digest } = await blobs.put(
    (async function* () {
      yield zip
    })(),
  )
  const archives = createArchives({ blobs, limits: { ...DEFAULT_ARCHIVE_LIMITS, ...limits } })
  return { archives, digest, blobs, top, folder: join(top, 'app') }
}

async function treeOf(folder: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(folder.length + 1)
    if (entry.isDirectory()) tree[`${name}/`] = ''
    else if (entry.isSymbolicLink()) tree[name] = `-> ${await readlink(path)}`
    else tree[name] = await readFile(path, 'latin1')
  }
  return tree
}

const isThere = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  )

const modeOf = async (path: string) => (await lstat(path)).mode & 0o7777

const read = (archives: Archives, digest: Digest, path: string) =>
  archives.look(digest, async (inside) => inside.read(path))

test('an archive is unpacked as it was packed', async (t) => {
  const big = Buffer.alloc(3_000_000, 'all work and no play ')
  const { archives, digest, folder } = await stored(
    t,
    writeZip([
      { name: 'index.html', content: '<h1>' },
      { name: 'stored.txt', content: 'as it is', method: 0 },
      { name: 'empty.txt', content: '' },
      { name: 'nothing.txt', packed: Buffer.alloc(0) },
      { name: 'big.txt', content: big },
      { name: 'big-stored.txt', content: big, method: 0 },
      { name: 'empty/folder/', mode: 0o040755 },
      { name: 'a/b/c/d.txt', content: 'd' },
      { name: 'latest', content: 'a/b/c', mode: 0o120777 },
    ]),
  )
  assert.deepEqual(await archives.unpack(digest, folder), {
    files: 8,
    bytes: 4 + 8 + 2 * big.length + 1,
    skipped: { nodeModules: 0, git: 0 },
    strippedFolder: undefined,
  })
  assert.deepEqual(await treeOf(folder), {
    'index.html': '<h1>',
    'stored.txt': 'as it is',
    'empty.txt': '',
    'nothing.txt': '',
    'big.txt': String(big),
    'big-stored.txt': String(big),
    'empty/': '',
    'empty/folder/': '',
    'a/': '',
    'a/b/': '',
    'a/b/c/': '',
    'a/b/c/d.txt': 'd',
    latest: '-> a/b/c',
  })
})

test('a file is executable or it is not, and nothing more of its mode counts', async (t) => {
  const { archives, digest, folder } = await stored(
    t,
    zipOf({
      plain: { content: 'x', mode: 0o600 },
      open: { content: 'x', mode: 0o666 },
      run: { content: 'x', mode: 0o100 },
      root: { content: 'x', mode: 0o6755 },
      'd/big': { content: Buffer.alloc(400_000), mode: 0o4777 },
    }),
  )
  const umask = process.umask(0o077)
  t.after(() => process.umask(umask))
  await archives.unpack(digest, folder)
  const modes: Record<string, number> = {}
  for (const name of ['', 'plain', 'open', 'run', 'root', 'd', 'd/big']) modes[name] = await modeOf(join(folder, name))
  assert.deepEqual(modes, { '': 0o755, plain: 0o644, open: 0o644, run: 0o755, root: 0o755, d: 0o755, 'd/big': 0o755 })
})

test('everything belongs to the given user and group', {
  skip: process.getuid?.() !== 0 && 'only root can',
}, async (t) => {
  const zip = zipOf({ 'a/b/c': 'x', 'e/': '', big: Buffer.alloc(400_000), link: { link: 'a' } })
  const { archives, digest, folder } = await stored(t, zip)
  await archives.unpack(digest, folder, { uid: 54_321, gid: 54_322 })
  for (const name of ['', 'a', 'a/b', 'a/b/c', 'e', 'big', 'link']) {
    const { uid, gid } = await lstat(join(folder, name))
    assert.deepEqual([name, uid, gid], [name, 54_321, 54_322])
  }
})

test('a folder that is there already is not touched', async (t) => {
  const { archives, digest, folder } = await stored(t, zipOf({ a: 'new' }))
  await mkdir(folder)
  await writeFile(join(folder, 'a'), 'old')
  await assert.rejects(archives.unpack(digest, folder), { code: 'EEXIST' })
  assert.deepEqual(await treeOf(folder), { a: 'old' })
})

test('an archive that is not in the store is BlobNotFound', async (t) => {
  const { archives, digest, folder, blobs } = await stored(t, zipOf({ a: 'x' }))
  await blobs.remove(digest)
  await assert.rejects(archives.checksums(digest), { name: 'BlobNotFound' })
  await assert.rejects(read(archives, digest, 'a'), { name: 'BlobNotFound' })
  await assert.rejects(archives.unpack(digest, folder), { name: 'BlobNotFound' })
  assert.equal(await isThere(folder), false)
})

const small = Buffer.from('x'.repeat(1000))
const large = Buffer.alloc(600_000, 'x')
const lies = (content: Buffer): [what: string, entry: ZipEntry][] => [
  ['more bytes than it says', { name: 'liar', packed: deflateRawSync(content), content: content.subarray(1) }],
  ['fewer bytes than it says', { name: 'liar', packed: deflateRawSync(content.subarray(1)), content }],
  ['another checksum', { name: 'liar', content, crc32: 1 }],
  ['another checksum, stored', { name: 'liar', content, crc32: 1, method: 0 }],
  ['data that is not deflated', { name: 'liar', content, packed: Buffer.alloc(content.length, 0xff) }],
  ['data that breaks off', { name: 'liar', content, packed: deflateRawSync(content).subarray(0, -3) }],
]
for (const [size, content] of [
  ['small', small],
  ['large', large],
] as const) {
  for (const [what, entry] of lies(content)) {
    test(`a ${size} entry with ${what} is refused, and nothing stays of the folder`, async (t) => {
      const { archives, digest, folder } = await stored(t, writeZip([{ name: 'good', content: 'x' }, entry]))
      await assert.rejects(
        archives.unpack(digest, folder),
        (error: { reason: string; metadata: { entry: string } }) => {
          assert.equal(error.reason, 'ARCHIVE_SIZE_LIES')
          assert.equal(error.metadata.entry, 'liar')
          return true
        },
      )
      assert.equal(await isThere(folder), false)
    })
  }
}

test('an archive that an upload would refuse is not unpacked either', async (t) => {
  const { archives, digest, folder, top } = await stored(t, zipOf({ a: 'x', '../evil': 'x' }))
  await assert.rejects(archives.unpack(digest, folder), { reason: 'ARCHIVE_ENTRY_UNSAFE' })
  assert.deepEqual(await readdir(top), ['blobs'])
})

test('unpacking that is aborted before it begins creates nothing', async (t) => {
  const { archives, digest, folder } = await stored(t, zipOf({ a: 'x' }))
  await assert.rejects(archives.unpack(digest, folder, { signal: AbortSignal.abort(new Error('off')) }), /off/)
  assert.equal(await isThere(folder), false)
})

test('unpacking that is aborted midway leaves nothing', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 2000 }, (_, number) => [`${number % 20}/${number}`, 'x']))
  const { archives, digest, folder } = await stored(t, zipOf(files))
  const off = new AbortController()
  const unpacking = archives.unpack(digest, folder, { signal: off.signal })
  while (!(await isThere(folder))) await new Promise(setImmediate)
  off.abort(new Error('off'))
  await assert.rejects(unpacking, /off/)
  assert.equal(await isThere(folder), false)
})

test('unpacking that is aborted in the middle of a large file leaves nothing', async (t) => {
  const { archives, digest, folder } = await stored(t, zipOf({ a: Buffer.alloc(40_000_000) }))
  const off = new AbortController()
  const unpacking = archives.unpack(digest, folder, { signal: off.signal })
  while (!(await isThere(join(folder, 'a')))) await new Promise(setImmediate)
  off.abort(new Error('off'))
  await assert.rejects(unpacking, /^Error: off$/)
  assert.equal(await isThere(folder), false)
})

test('listing, reading and unpacking see the same app', async (t) => {
  const { archives, digest, folder } = await stored(
    t,
    zipOf({
      'shop-main/': '',
      'shop-main/package.json': '{"name":"shop"}',
      'shop-main/src/a.ts': 'a',
      'shop-main/node_modules/x/index.js': 'x',
      'shop-main/packages/b/node_modules/y/index.js': 'y',
      'shop-main/packages/b/package.json': '{}',
      'shop-main/.git/HEAD': 'x',
      'shop-main/.gitignore': 'dist',
      'shop-main/src/.DS_Store': 'x',
      'shop-main/config.json': { link: 'package.json' },
      '__MACOSX/shop-main/._package.json': 'x',
    }),
  )
  const paths = ['.gitignore', 'config.json', 'package.json', 'packages/b/package.json', 'src/a.ts']
  assert.deepEqual(await archives.look(digest, async ({ files }) => files), paths)
  const { files, skipped, strippedFolder } = await archives.unpack(digest, folder)
  assert.deepEqual([files, skipped, strippedFolder], [5, { nodeModules: 2, git: 1 }, 'shop-main'])
  const tree = await treeOf(folder)
  assert.deepEqual(
    Object.keys(tree)
      .filter((name) => !name.endsWith('/'))
      .sort(),
    paths,
  )
  for (const path of paths) assert.equal(await read(archives, digest, path), await readFile(join(folder, path), 'utf8'))
})

suite('reading a file without unpacking', () => {
  test('gives undefined for an absent file, a skipped file or a folder', async (t) => {
    const { archives, digest } = await stored(
      t,
      zipOf({ 'a/b': 'x', 'c/': '', 'node_modules/x': 'x', gone: { link: 'not/there' }, 'to-folder': { link: 'a' } }),
    )
    for (const path of ['', 'a', 'a/', '/a/b', 'a/../a/b', 'b', 'c', 'node_modules/x', 'gone', 'to-folder']) {
      assert.equal(await read(archives, digest, path), undefined, path)
    }
  })

  test('leaves off a byte order mark, which parsers do not expect', async (t) => {
    const { archives, digest } = await stored(t, zipOf({ 'package.json': '\ufeff{}' }))
    assert.equal(await read(archives, digest, 'package.json'), '{}')
  })

  test('takes a file of 1 MiB and gives undefined for a larger one', async (t) => {
    const { archives, digest } = await stored(t, zipOf({ fits: ' '.repeat(2 ** 20), not: ' '.repeat(2 ** 20 + 1) }))
    assert.equal((await read(archives, digest, 'fits'))?.length, 2 ** 20)
    assert.equal(await read(archives, digest, 'not'), undefined)
  })

  test('notices a checksum that is wrong', async (t) => {
    const { archives, digest } = await stored(t, writeZip([{ name: 'a', content: 'x', crc32: 1 }]))
    await assert.rejects(read(archives, digest, 'a'), { reason: 'ARCHIVE_SIZE_LIES' })
  })
})

suite('looking into an archive', () => {
  test('gives the text of what a link leads to', async (t) => {
    const { archives, digest } = await stored(t, zipOf({ a: 'x', 'to-a': { link: 'a' } }))
    assert.equal(await read(archives, digest, 'to-a'), 'x')
  })

  for (const [how, method] of Object.entries({ deflated: 8, stored: 0 })) {
    test(`gives how a file begins that is ${how}, however large it is`, async (t) => {
      const content = Array.from({ length: 300_000 }, (_, index) => `${index}\n`).join('')
      const { archives, digest } = await stored(t, writeZip([{ name: 'large', content, method }, { name: 'b' }]))
      await archives.look(digest, async ({ head }) => {
        for (const bytes of [1, 1000, 20_000, 100_000, 2 ** 24])
          assert.equal(await head('large', bytes), content.slice(0, bytes), String(bytes))
        assert.deepEqual([await head('b', 10), await head('gone', 10)], ['', undefined])
      })
    })
  }
})

const SELECTIONS: [what: string, names: string[], folder: string | undefined, paths: string[]][] = [
  ['one folder around everything is taken off', ['a/', 'a/x', 'a/b/y'], 'a', ['x', 'b/y']],
  ['only one folder is taken off', ['a/b/x', 'a/b/y'], 'a', ['b/x', 'b/y']],
  ['a file beside the folder keeps it', ['a/x', 'y'], undefined, ['a/x', 'y']],
  ['a second folder keeps the first', ['a/x', 'ab/y'], undefined, ['a/x', 'ab/y']],
  ['an empty folder beside the folder keeps it', ['a/x', 'b/'], undefined, ['a/x', 'b']],
  ['a file alone is not in a folder', ['a'], undefined, ['a']],
  ['what Finder leaves does not keep a folder', ['a/x', '__MACOSX/a/._x', '.DS_Store'], 'a', ['x']],
  ['node_modules at the top keeps the folder beside it', ['public/x', 'node_modules/y'], undefined, ['public/x']],
  ['.git at the top keeps the folder beside it', ['.git/HEAD', 'public/x'], undefined, ['public/x']],
  [
    'node_modules is left out at any depth, as a file too',
    ['x', 'a/node_modules/y', 'b/node_modules'],
    undefined,
    ['x'],
  ],
  ['.git is left out at any depth, as a file too', ['x', 'a/.git/HEAD', 'b/.git', '.git/x'], undefined, ['x']],
  [
    'names that only look like it stay',
    ['.github/x', 'node_modules.md', 'a/.gitignore', 'my.git/x', 'a/__MACOSX/x'],
    undefined,
    ['.github/x', 'node_modules.md', 'a/.gitignore', 'my.git/x', 'a/__MACOSX/x'],
  ],
  ['an archive of node_modules alone has nothing', ['node_modules/a/x'], undefined, []],
  ['an archive without entries has nothing', [], undefined, []],
]
suite('of the entries of an archive', () => {
  for (const [what, names, folder, paths] of SELECTIONS) {
    test(what, async () => {
      const entries = names.map((name) => ({
        name: name.replace(/\/$/, ''),
        kind: name.endsWith('/') ? ('folder' as const) : ('file' as const),
      }))
      const { selected, strippedFolder } = await select(entries)
      assert.equal(strippedFolder, folder)
      assert.deepEqual(
        selected.map(({ path }) => path),
        paths,
      )
    })
  }
})

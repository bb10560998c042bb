/** Layers that an attacker made, and marks of overlays. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chown, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { BLOCK, checksumOf } from '../../tar/index.ts'
import { APP_USER, LayerBroken, type LayerEntry } from './entry.ts'
import { type Content, contentsOf, folderEntry, textEntry } from './folder.ts'
import { packLayer, tarOf } from './pack.ts'
import { headerOf } from './tar.ts'
import { type UnpackOptions, unpackLayer, unpackTar } from './unpack.ts'

const isRoot = process.getuid?.() === 0
const NEEDS_ROOT = { skip: isRoot ? false : 'needs root: marks of overlays are devices' }
const OPTIONS: UnpackOptions = { at: 'app', limits: { files: 100, bytes: 10_000 }, user: undefined, time: 0 }

const link = (path: string, to: string): Content => ({
  entry: { path, kind: 'symlink', mode: 0o777, owner: 0, size: 0, to },
})
const file = (path: string, more: Partial<LayerEntry> = {}): Content => {
  const made = textEntry(path, 'text')
  return { ...made, entry: { ...made.entry, ...more } }
}
const APP = folderEntry('app')

async function unpack(t: TestContext, contents: Content[], options: Partial<UnpackOptions> = {}) {
  const folder = await temporaryFolder(t)
  await unpackTar(tarOf(contents), join(folder, 'out'), { ...OPTIONS, ...options })
  return join(folder, 'out')
}

const HOSTILE: Record<string, [Content[], RegExp]> = {
  'a name that leads up': [[APP, file('app/../evil')], /has the name "app\/\.\.\/evil"/],
  'an absolute name': [[APP, file('/etc/evil')], /has the name/],
  'an empty step': [[APP, file('app//evil')], /has the name/],
  'a file outside of the app': [[APP, file('etc/evil')], /outside of app/],
  'a file in place of the app': [[file('app')], /outside of app/],
  'a link in place of the app': [[link('app', '/etc')], /outside of app/],
  'a file behind a link': [[APP, link('app/to', '/etc'), file('app/to/evil')], /lies in no folder/],
  'a folder in place of a link': [[APP, link('app/to', '/etc'), folderEntry('app/to')], /twice/],
  'a file in place of a link': [[APP, link('app/to', '/etc/evil'), file('app/to')], /twice/],
  'a file in no folder': [[APP, file('app/none/evil')], /lies in no folder/],
  'a program that runs as its owner': [[APP, file('app/evil', { mode: 0o4755 })], /more than plain permissions/],
  'a file of another user': [[APP, file('app/evil', { owner: 1000 })], /unknown user/],
  'a mark with bytes': [[APP, file('app/.wh.x')], /not an empty file/],
  'a mark of nothing': [[APP, textEntry('app/.wh.', '')], /hides what is there/],
  'a mark of a mark': [[APP, textEntry('app/.wh..wh.x', '')], /hides what is there/],
  'a mark over a file': [[APP, file('app/x'), textEntry('app/.wh.x', '')], /hides what is there/],
  'a file over a mark': [[APP, textEntry('app/.wh.x', ''), file('app/x')], /twice/],
  'a mark over the whole app': [[APP, textEntry('app/.wh..wh..opq', '')], /hides the whole app/],
  'too many files': [
    [APP, ...Array.from({ length: 101 }, (_, at) => textEntry(`app/${at}`, ''))],
    /larger than allowed/,
  ],
  'too many bytes': [[APP, file('app/x', { size: 10_001 })], /larger than allowed/],
}

for (const [what, [contents, reason]] of Object.entries(HOSTILE))
  test(`a layer with ${what} is refused`, async (t) => {
    await assert.rejects(unpack(t, contents), (error) => {
      assert.ok(error instanceof LayerBroken, String(error))
      assert.match(error.message, reason)
      return true
    })
  })

const RAW: Record<string, (header: Buffer) => void> = {
  'a device': (header) => header.write('3', 156, 'latin1'),
  'a hard link': (header) => header.write('1', 156, 'latin1'),
  'a fifo': (header) => header.write('6', 156, 'latin1'),
  'a name of the owner': (header) => header.write('root', 265, 'latin1'),
  'a prefix of the name': (header) => header.write('etc', 345, 'latin1'),
  'another time': (header) => header.write('00000000001', 136, 'latin1'),
  'a group of its own': (header) => header.write('0000007', 116, 'latin1'),
}

for (const [what, change] of Object.entries(RAW))
  test(`a layer with ${what} is refused`, async (t) => {
    const folder = await temporaryFolder(t)
    const header = headerOf({ path: 'app/x', kind: 'file', mode: 0o644, owner: 0, size: 0 })
    change(header)
    header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
    const tar = [headerOf(APP.entry), header, Buffer.alloc(2 * BLOCK)]
    await assert.rejects(unpackTar(toAsync(tar), join(folder, 'out'), OPTIONS), LayerBroken)
  })

async function* toAsync(pieces: Buffer[]) {
  yield* pieces
}

test('a layer that is cut off is refused at every length', async (t) => {
  const pieces: Buffer[] = []
  for await (const piece of tarOf([APP, file('app/x')])) pieces.push(piece)
  const tar = Buffer.concat(pieces)
  for (let length = 0; length < tar.byteLength; length += 256) {
    const folder = await temporaryFolder(t)
    const cut = toAsync([tar.subarray(0, length)])
    await assert.rejects(unpackTar(cut, join(folder, 'out'), OPTIONS), /cut off/)
  }
})

test('a layer that is not compressed is refused', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'layer'), 'not gzip')
  await assert.rejects(unpackLayer(join(folder, 'layer'), join(folder, 'out'), OPTIONS), /not gzip/)
})

test('names in a message are short and show no control characters', async (t) => {
  await assert.rejects(unpack(t, [APP, file(`app/\u001b[2J${'x'.repeat(900)}/y`)]), (error: Error) => {
    assert.ok(error.message.length < 300)
    return !error.message.includes('\u001b')
  })
})

test('links stay as they are, wherever they lead', async (t) => {
  const out = await unpack(t, [APP, link('app/to', '/etc/passwd')])
  assert.ok((await lstat(join(out, 'to'))).isSymbolicLink())
})

test('a removed file of a lower layer, and a hidden folder, survive a layer and back', NEEDS_ROOT, async (t) => {
  const folder = await temporaryFolder(t)
  const top = join(folder, 'in')
  await mkdir(join(top, 'fresh'), { recursive: true })
  await mkdir(join(top, 'shown'))
  await writeFile(join(top, 'fresh/file'), 'text')
  await promisify(execFile)('mknod', [join(top, 'removed'), 'c', '0', '0'])
  const { putMarks } = await import('./marks.ts')
  await putMarks(top, { whiteouts: [], opaque: ['fresh'] })
  const packed = await packLayer(contentsOf(top, { at: 'app', isOverlay: true }), join(folder, 'layer'))
  const listed = await promisify(execFile)('tar', ['--list', '--gzip', '--file', join(folder, 'layer')])
  assert.deepEqual(listed.stdout.trim().split('\n'), [
    ...['app/', 'app/fresh/', 'app/fresh/.wh..wh..opq', 'app/fresh/file', 'app/.wh.removed', 'app/shown/'],
  ])
  await unpackLayer(join(folder, 'layer'), join(folder, 'out'), OPTIONS)
  const removed = await lstat(join(folder, 'out/removed'))
  assert.ok(removed.isCharacterDevice())
  assert.equal(removed.rdev, 0)
  assert.deepEqual((await readdir(join(folder, 'out'))).toSorted(), ['fresh', 'removed', 'shown'])
  assert.deepEqual(
    await packLayer(contentsOf(join(folder, 'out'), { at: 'app', isOverlay: true }), join(folder, 'again')),
    packed,
  )
})

test(
  'folders that the app may write belong to its user, and to that of the environment when unpacked',
  NEEDS_ROOT,
  async (t) => {
    const folder = await temporaryFolder(t)
    await mkdir(join(folder, 'in/cache/inner'), { recursive: true })
    await writeFile(join(folder, 'in/cache/inner/file'), '')
    await symlink('inner', join(folder, 'in/cache/link'))
    await writeFile(join(folder, 'in/cached'), '')
    await chown(join(folder, 'in/cached'), 4321, 4321)
    const owners: Record<string, number> = {}
    for await (const { entry } of contentsOf(join(folder, 'in'), { at: 'app', writable: ['cache'] }))
      owners[entry.path] = entry.owner
    assert.deepEqual(owners, {
      app: 0,
      'app/cache': APP_USER,
      'app/cache/inner': APP_USER,
      'app/cache/inner/file': APP_USER,
      'app/cache/link': APP_USER,
      'app/cached': 0,
    })
    await packLayer(contentsOf(join(folder, 'in'), { at: 'app', writable: ['cache'] }), join(folder, 'layer'))
    const user = { uid: 210_001, gid: 210_002 }
    await unpackLayer(join(folder, 'layer'), join(folder, 'out'), { ...OPTIONS, user, time: 1_700_000_000_000 })
    for (const path of ['cache', 'cache/inner', 'cache/inner/file', 'cache/link']) {
      const { uid, gid } = await lstat(join(folder, 'out', path))
      assert.deepEqual({ uid, gid }, user, path)
    }
    assert.equal((await stat(join(folder, 'out/cached'))).uid, 0)
    assert.equal((await stat(join(folder, 'out/cache/inner/file'))).mtimeMs, 1_700_000_000_000)
    assert.equal((await stat(join(folder, 'out/cache'))).mtimeMs, 1_700_000_000_000)
  },
)

test('names that would be taken for marks are left out of a layer and reported', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, '.wh.file'), '')
  await writeFile(join(folder, 'file'), 'text')
  const leftOut: string[] = []
  const paths: string[] = []
  for await (const { entry } of contentsOf(folder, { at: 'app', onLeftOut: (path) => leftOut.push(path) }))
    paths.push(entry.path)
  assert.deepEqual(leftOut, ['.wh.file'])
  assert.deepEqual(paths, ['app', 'app/file'])
})

test('a large file is read in pieces and comes back whole', async (t) => {
  const folder = await temporaryFolder(t)
  const content = Buffer.alloc(3 * 1024 * 1024 + 17, 'headland')
  await mkdir(join(folder, 'in'))
  await writeFile(join(folder, 'in/large'), content)
  await packLayer(contentsOf(join(folder, 'in'), { at: 'app' }), join(folder, 'layer'))
  const limits = { files: 10, bytes: 4 * 1024 * 1024 }
  await unpackLayer(join(folder, 'layer'), join(folder, 'out'), { ...OPTIONS, limits })
  assert.ok(content.equals(await readFile(join(folder, 'out/large'))))
})

test('of a folder, only what was asked for is taken, with the folders above it', async (t) => {
  const top = await temporaryFolder(t)
  for (const path of ['.next/server/app', '.next/server/chunks', '.next/cached', '.next/cache'])
    await mkdir(join(top, path), { recursive: true })
  await writeFile(join(top, '.next/server/app/page.html'), '')
  await writeFile(join(top, '.next/server/chunks/1.js'), '')
  const only = ['.next/server/app', '.next/cache']
  const paths: string[] = []
  for await (const { entry } of contentsOf(top, { at: 'initial', only })) paths.push(entry.path)
  assert.deepEqual(paths, [
    ...['initial', 'initial/.next', 'initial/.next/cache', 'initial/.next/server', 'initial/.next/server/app'],
    'initial/.next/server/app/page.html',
  ])
})

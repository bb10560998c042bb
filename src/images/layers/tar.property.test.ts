/** Layers as `tar` of the system reads them, and as they are read again here. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { APP_USER, LAYER_TIME, type LayerEntry } from './entry.ts'
import { contentsOf, folderEntry } from './folder.ts'
import { packLayer, tarOf } from './pack.ts'
import { headerOf } from './tar.ts'
import { unpackLayer } from './unpack.ts'

const run = promisify(execFile)
const LIMITS = { files: 10_000, bytes: 1024 ** 3 }

const name = fc
  .oneof(
    fc.stringMatching(/^[a-z.]{1,8}$/),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    fc.stringMatching(/^[a-z]{90,120}$/),
  )
  .filter(
    (text) =>
      !/[/\0\u{fffd}]/u.test(text) &&
      text.isWellFormed() &&
      text !== '.' &&
      text !== '..' &&
      !text.startsWith('.wh.') &&
      Buffer.byteLength(text) <= 200,
  )
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((steps) => steps.join('/'))
type Made =
  | { kind: 'file'; content: Uint8Array; isProgram: boolean }
  | { kind: 'link'; to: string }
  | { kind: 'folder' }
const file: fc.Arbitrary<Made> = fc.oneof(
  fc.record({
    kind: fc.constant('file' as const),
    content: fc.uint8Array({ maxLength: 2000 }),
    isProgram: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('link' as const), to: path }),
  fc.record({ kind: fc.constant('folder' as const) }),
)
const tree = fc.array(fc.tuple(path, file), { maxLength: 12 })

async function write(top: string, entries: [string, Made][]) {
  await mkdir(top, { recursive: true })
  for (const [at, entry] of entries) {
    const full = join(top, at)
    try {
      await mkdir(dirname(full), { recursive: true })
      if (entry.kind === 'folder') await mkdir(full)
      else if (entry.kind === 'link') await symlink(entry.to, full)
      else {
        await writeFile(full, entry.content, { flag: 'wx' })
        await chmod(full, entry.isProgram ? 0o700 : 0o600)
      }
    } catch (error) {
      // Two entries want the same name, or one lies below a file: the first one stays.
      assert.match(String((error as NodeJS.ErrnoException).code), /EEXIST|ENOTDIR|ENOENT|ELOOP|ENAMETOOLONG/)
    }
  }
}

/** Names, kinds and contents of everything in a folder. */
async function describe(top: string, at = ''): Promise<string[]> {
  const lines: string[] = []
  for (const entry of await readdir(join(top, at), { withFileTypes: true })) {
    const inner = join(at, entry.name)
    if (entry.isDirectory()) lines.push(`d ${inner}`, ...(await describe(top, inner)))
    else if (entry.isSymbolicLink()) lines.push(`l ${inner} ${await readlink(join(top, inner))}`)
    else lines.push(`f ${inner} ${(await readFile(join(top, inner))).toString('base64')}`)
  }
  return lines.toSorted()
}

test('what tar unpacks from a layer is what was packed, and so is what is unpacked here', async (t) => {
  const folder = await temporaryFolder(t)
  let number = 0
  await fc.assert(
    fc.asyncProperty(tree, async (entries) => {
      const at = join(folder, String(number++))
      await write(join(at, 'in'), entries)
      await packLayer(contentsOf(join(at, 'in'), { at: 'app' }), join(at, 'layer.tgz'))
      await mkdir(join(at, 'out'))
      await run('tar', ['--extract', '--gzip', '--file', join(at, 'layer.tgz'), '--directory', join(at, 'out')])
      const expected = await describe(join(at, 'in'))
      assert.deepEqual(await describe(join(at, 'out/app')), expected)
      await unpackLayer(join(at, 'layer.tgz'), join(at, 'own'), { at: 'app', limits: LIMITS, user: undefined, time: 0 })
      assert.deepEqual(await describe(join(at, 'own')), expected)
    }),
    { numRuns: 40 },
  )
})

test('equal files are equal bytes, whatever their order, times and permissions', async (t) => {
  const folder = await temporaryFolder(t)
  let number = 0
  await fc.assert(
    fc.asyncProperty(tree, async (entries) => {
      const at = join(folder, String(number++))
      await write(join(at, 'one'), entries)
      await run('cp', ['--recursive', '--no-dereference', '--preserve=mode', join(at, 'one'), join(at, 'two')])
      await run('chmod', ['--recursive', 'go+rw', join(at, 'two')])
      const [one, two] = [
        await packLayer(contentsOf(join(at, 'one'), { at: 'app' }), join(at, 'one.tgz')),
        await packLayer(contentsOf(join(at, 'two'), { at: 'app' }), join(at, 'two.tgz')),
      ]
      assert.deepEqual(two, one)
    }),
    { numRuns: 25 },
  )
})

test('a file of more than 8 GiB has its size in an extended header', async () => {
  const size = 9 * 1024 ** 3
  const pieces: Buffer[] = []
  const entry = { path: 'app/large', kind: 'file' as const, mode: 0o644, owner: 0, size }
  for await (const piece of tarOf([{ entry }])) pieces.push(piece)
  assert.match(Buffer.concat(pieces).toString('latin1'), new RegExp(`\\d+ size=${size}\n`))
})

test('every entry has the same time', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'file'), 'text')
  const pieces: Buffer[] = []
  for await (const piece of tarOf(contentsOf(folder, { at: 'app' }))) pieces.push(piece)
  const tar = Buffer.concat(pieces)
  assert.equal(Number.parseInt(tar.toString('latin1', 136, 147), 8), LAYER_TIME)
  assert.equal(Number.parseInt(tar.toString('latin1', 512 + 136, 512 + 147), 8), LAYER_TIME)
})

test('the headers of a layer are the bytes that they have always been, so that an old image is still read', () => {
  const file = { path: 'app/a', kind: 'file' as const, mode: 0o644, owner: 0, size: 3 }
  const entries: LayerEntry[] = [
    folderEntry('app').entry,
    file,
    { ...file, path: 'app/ü', mode: 0o755, owner: APP_USER, size: 9 * 1024 ** 3 },
    { ...file, path: `app/${'n'.repeat(150)}`, owner: APP_USER },
    { ...file, path: 'app/link', kind: 'symlink', mode: 0o777, owner: APP_USER, size: 0, to: '../ü' },
  ]
  const digest = createHash('sha256').update(Buffer.concat(entries.map(headerOf)))
  assert.equal(digest.digest('hex'), 'c71f69fc04e6538362b50277e23d751a52a5ffb1a9a9f530d3c636cfc0014598')
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, mkdir, readdir, readFile, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import { createTarballStore } from './tarballs.ts'
import type { Size } from './untrusted-folder.ts'
import { createWorkspace } from './workspace.ts'

const PATH = 'npm/content'
const [OURS, THEIRS] = ['ours', 'theirs']

const digestOf = (text: string): string => createHash('sha512').update(text).digest('hex')
const nameOf = (digest: string): string => join(PATH, digest.slice(0, 2), digest.slice(2, 4), digest.slice(4))

async function setUp(t: Scope, limits?: Size) {
  const top = await temporaryFolder(t)
  const folder = join(top, 'tarballs')
  const tarballs = createTarballStore({ folder, ...(limits ? { limits } : {}) })
  const store = join(top, 'store')
  let count = 0

  async function workspace() {
    const made = createWorkspace({ folder: join(top, `work${++count}`), user: undefined, isLayered: true })
    await made.empty()
    return made
  }

  return {
    top,
    store,
    tarballs,
    there: async (account = OURS) => (await readdir(join(folder, account))).toSorted(),
    ageAll: async () => {
      for (const name of await readdir(join(folder, OURS))) await utimes(join(folder, OURS, name), 1, 1)
    },
    /** As a build leaves it. */
    async write(text: string, digest = digestOf(text)): Promise<string> {
      const file = join(store, nameOf(digest))
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
      return file
    },
    keep: async (digests: string[], account = OURS) =>
      tarballs.keep(account, digests, { store, workspace: await workspace(), path: PATH }),
    lay: async (digests: string[], account = OURS) =>
      tarballs.lay(account, digests, { workspace: await workspace(), path: PATH }),
  }
}

test('a tarball that a build has downloaded is in the layer of another build that asks for it', async (t) => {
  const { write, keep, lay } = await setUp(t)
  await write('one')
  const digest = digestOf('one')
  assert.deepEqual(await keep([digest]), { files: 1, bytes: 3, rejected: 0 })
  assert.deepEqual(await keep([digest]), { files: 0, bytes: 0, rejected: 0 })
  const laid = await lay([digest, digestOf('other')])
  assert.deepEqual([laid?.files, laid?.bytes], [1, 3])
  assert.equal(await readFile(join(laid?.layer ?? '', nameOf(digest)), 'utf8'), 'one')
})

test('a build gets no tarball that its lockfile does not name', async (t) => {
  const { write, keep, lay } = await setUp(t)
  for (const text of ['one', 'private']) await write(text)
  await keep([digestOf('one'), digestOf('private')])
  const laid = await lay([digestOf('one')])
  const files = await readdir(laid?.layer ?? '', { recursive: true, withFileTypes: true })
  assert.deepEqual(
    files.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name)),
    [join(laid?.layer ?? '', nameOf(digestOf('one')))],
  )
})

test('nothing is taken from a store that no lockfile names', async (t) => {
  const { write, keep, there } = await setUp(t)
  for (const text of ['one', 'two']) await write(text)
  await keep([digestOf('one')])
  assert.deepEqual(await there(), [digestOf('one')])
})

test('another account gets nothing', async (t) => {
  const { write, keep, lay } = await setUp(t)
  await write('one')
  await keep([digestOf('one')])
  assert.equal(await lay([digestOf('one')], THEIRS), undefined)
})

test('altered bytes under the name of a tarball are not kept, and the others are', async (t) => {
  const { write, keep, lay, there } = await setUp(t)
  await write('one')
  await write('evil', digestOf('two'))
  assert.deepEqual(await keep([digestOf('one'), digestOf('two')]), { files: 1, bytes: 3, rejected: 1 })
  assert.deepEqual(await there(), [digestOf('one')])
  assert.equal(await lay([digestOf('two')]), undefined)
})

test('links and pipes in a store are not followed, whatever they lead to', async (t) => {
  const { top, write, keep, store, there } = await setUp(t)
  const file = await write('file')
  await rename(file, join(top, 'outside'))
  await symlink(join(top, 'outside'), file)
  const folder = dirname(await write('folder'))
  await rename(folder, join(top, 'moved'))
  await symlink(join(top, 'moved'), folder)
  const pipe = join(store, nameOf(digestOf('')))
  await mkdir(dirname(pipe), { recursive: true })
  await promisify(execFile)('mkfifo', [pipe])
  const found = await keep(['file', 'folder', ''].map(digestOf))
  assert.deepEqual([found, await there()], [{ files: 0, bytes: 0, rejected: 0 }, []])
})

test('a digest that is none is no path', async (t) => {
  const { keep, lay, there } = await setUp(t)
  for (const digest of ['..', '../../x', '', 'ab'.repeat(63)]) {
    assert.equal((await keep([digest])).files, 0)
    assert.equal(await lay([digest]), undefined)
  }
  assert.deepEqual(await there().catch(() => []), [])
})

test('what builds used last stays when an account has too many', async (t) => {
  const { write, keep, lay, there, ageAll } = await setUp(t, { files: 2, bytes: 100 })
  for (const text of ['one', 'two', 'three']) await write(text)
  await keep(['one', 'two'].map(digestOf))
  await ageAll()
  await lay([digestOf('two')])
  await keep([digestOf('three')])
  assert.deepEqual(await there(), [digestOf('two'), digestOf('three')].toSorted())
})

test('an account never has more bytes than the limit, and a larger tarball is not even copied', async (t) => {
  const { write, keep, there, ageAll } = await setUp(t, { files: 9, bytes: 6 })
  for (const text of ['one', 'two', 'larger than the limit']) await write(text)
  await keep(['larger than the limit', 'one'].map(digestOf))
  assert.deepEqual(await there(), [digestOf('one')])
  await keep([digestOf('two')])
  assert.deepEqual(await there(), ['one', 'two'].map(digestOf).toSorted())
  await ageAll()
  await write('four')
  await keep([digestOf('four')])
  assert.deepEqual(await there(), [digestOf('four')])
})

test('what is laid for a build can be read by its user, and written by none', async (t) => {
  const { write, keep, lay } = await setUp(t)
  await write('one')
  await keep([digestOf('one')])
  const { layer = '' } = (await lay([digestOf('one')])) ?? {}
  assert.equal((await lstat(join(layer, nameOf(digestOf('one'))))).mode & 0o777, 0o444)
})

test('with an account without environments goes all that it shared', async (t) => {
  const { write, keep, tarballs, lay } = await setUp(t)
  await write('one')
  for (const account of [OURS, THEIRS]) await keep([digestOf('one')], account)
  assert.equal(await tarballs.collect(async () => new Set([THEIRS])), 1)
  assert.equal(await lay([digestOf('one')]), undefined)
  assert.equal((await lay([digestOf('one')], THEIRS))?.files, 1)
})

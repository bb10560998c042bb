import assert from 'node:assert/strict'
import { chmod, cp, mkdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import { createArchives, DEFAULT_ARCHIVE_LIMITS } from '../../archives/index.ts'
import { openDiskBlobs } from '../../storage/blobs/blobs-disk.ts'
import { filesOf } from './files.ts'
import { withArchive } from './pack.ts'

const never = new AbortController().signal

async function project(t: Scope): Promise<string> {
  const folder = join(await temporaryFolder(t), 'app')
  await mkdir(join(folder, 'src/ü'), { recursive: true })
  await writeFile(join(folder, 'package.json'), '{}')
  await writeFile(join(folder, 'src/ü/index.js'), 'console.log(1)\n'.repeat(5000))
  await writeFile(join(folder, 'src/Z.js'), 'z')
  await writeFile(join(folder, 'empty'), '')
  await writeFile(join(folder, 'large.txt'), 'a line like many others\n'.repeat(20_000))
  await writeFile(join(folder, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  await symlink('src/Z.js', join(folder, 'link.js'))
  return folder
}

const packed = async <T>(folder: string, use: (path: string, digest: string) => Promise<T> | T): Promise<T> =>
  withArchive((await filesOf(folder)).files, async ({ path, digest }) => use(path, digest), never)

const digestOf = (folder: string): Promise<string> => packed(folder, (_, digest) => digest)

test('the same files are the same bytes: at another time, in another place, with another mask', async (t) => {
  const folder = await project(t)
  const first = await digestOf(folder)
  assert.match(first, /^sha256:[0-9a-f]{64}$/)
  assert.equal(await digestOf(folder), first)

  await utimes(join(folder, 'package.json'), 1, 1)
  await chmod(join(folder, 'package.json'), 0o600)
  await chmod(join(folder, 'run.sh'), 0o700)
  assert.equal(await digestOf(folder), first, 'after times and modes changed')

  const copy = join(await temporaryFolder(t), 'copy')
  await cp(folder, copy, { recursive: true, verbatimSymlinks: true })
  assert.equal(await digestOf(copy), first, 'from a copy')

  await writeFile(join(copy, 'src/Z.js'), 'y')
  assert.notEqual(await digestOf(copy), first, 'after a change')
})

test('the service takes the archive, with links and modes as they were', async (t) => {
  const folder = await temporaryFolder(t)
  const archives = createArchives({ blobs: await openDiskBlobs(folder), limits: DEFAULT_ARCHIVE_LIMITS })
  const source = await project(t)
  const form = await packed(source, async (path) => {
    const body = new FormData()
    body.append('repository', new Blob([await readFile(path)]), 'app.zip')
    return new Response(body)
  })
  const body = Readable.fromWeb(form.body as never)
  const archive = await archives.receive(body, form.headers.get('content-type') ?? '')
  assert.equal(archive.files, 7)
  const unpacked = join(folder, 'unpacked')
  await archives.unpack(archive.digest, unpacked)
  assert.equal(await digestOf(unpacked), await digestOf(source), 'what was unpacked packs to the same again')
})

test('the archive is gone afterwards, also when what it was made for fails', async (t) => {
  const folder = await project(t)
  let at = ''
  const failing = packed(folder, (path) => {
    at = path
    throw new Error('as it happens')
  })
  await assert.rejects(failing, /as it happens/)
  await assert.rejects(readFile(at), { code: 'ENOENT' })
})

test('a file that vanishes before it is packed is named', async (t) => {
  const folder = await project(t)
  const { files } = await filesOf(folder)
  await rm(join(folder, 'package.json'))
  await assert.rejects(
    withArchive(files, async () => undefined, never),
    /package\.json cannot be read/,
  )
})

test('packing ends when its signal is aborted', async (t) => {
  const { files } = await filesOf(await project(t))
  const stopped = AbortSignal.abort(new Error('enough'))
  await assert.rejects(
    withArchive(files, async () => undefined, stopped),
    /enough/,
  )
})

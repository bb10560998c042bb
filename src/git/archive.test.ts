import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../test/support/folder.ts'
import { testSandbox } from '../../test/support/machine/engine.ts'
import { createArchives, DEFAULT_ARCHIVE_LIMITS } from '../archives/index.ts'
import { openDiskBlobs } from '../storage/blobs/blobs-disk.ts'
import { createGit } from './git.ts'

const engine = await testSandbox()
const canChooseUsers = process.getuid?.() === 0
const limits = {
  memoryBytes: 512 * 1024 ** 2,
  processes: 64,
  cpuWeight: 50,
  openFiles: 1024,
  fileBytes: 1024 ** 3,
  diskBytes: 1024 ** 3,
  diskFiles: 100_000,
}
const { signal } = new AbortController()

async function open(t: TestContext) {
  const top = await temporaryFolder(t)
  const blobs = await openDiskBlobs(join(top, 'blobs'))
  const archives = createArchives({ blobs, limits: DEFAULT_ARCHIVE_LIMITS })
  const git = createGit({ engine, limits, folder: join(top, 'git'), canChooseUsers, archives })
  const source = join(top, 'source')
  await mkdir(source)
  // Work folders belong to the users of their jobs.
  await writeFile(join(top, '.gitconfig'), '[safe]\n\tdirectory = *\n')
  const run = async (...args: string[]) => {
    const env = { PATH: '/usr/bin:/bin', GIT_CONFIG_NOSYSTEM: '1', HOME: top }
    const who = ['-c', 'user.name=Ada\u0007\u2028L', '-c', 'user.email=ada@x', '-c', 'protocol.file.allow=always']
    return (await promisify(execFile)('git', [...who, ...args], { cwd: source, env })).stdout.trim()
  }
  await run('init', '-q', '-b', 'main')

  /** The commit in a work folder of git, as a push or a fetch would leave it. */
  async function stage() {
    const folder = await git.folders.make()
    await run('add', '-A')
    await run('commit', '-q', '-m', 'A subject\n\nand more')
    const sha = await run('rev-parse', 'HEAD')
    await run('push', '-q', folder.repository, 'main')
    t.after(() => folder.remove())
    return { folder, sha }
  }
  return { git, archives, source, run, stage }
}

test('the tree of a commit becomes an archive with its author and subject, whole and always the same', async (t) => {
  const { git, archives, source, stage } = await open(t)
  await mkdir(join(source, 'apps'))
  await writeFile(join(source, 'apps', 'index.html'), 'hello')
  await writeFile(join(source, 'apps', '.gitattributes'), '* export-ignore\n')
  await symlink('index.html', join(source, 'apps', 'link'))
  const { folder, sha } = await stage()
  const archive = await git.archive(folder, sha, { signal })
  assert.deepEqual(archive.commit, { sha, subject: 'A subject', author: 'Ada L' })
  const files = await archives.look(archive.digest, async (inside) => inside.files)
  assert.deepEqual(files, ['apps/.gitattributes', 'apps/index.html', 'apps/link'])
  assert.equal((await git.archive(folder, sha, { signal })).digest, archive.digest)
})

test('submodules and pointers of Git LFS are named in notes', async (t) => {
  const { git, source, run, stage } = await open(t)
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`
  await writeFile(join(source, 'photo.jpg'), pointer)
  await run('add', '-A')
  await run('commit', '-q', '-m', 'first')
  await run('submodule', '--quiet', 'add', source, 'vendor/theme')
  const { folder, sha } = await stage()
  const { commit } = await git.archive(folder, sha, { signal })
  const notes = commit.notes ?? []
  assert.equal(notes.length, 2)
  assert.match(notes[0] ?? '', /Submodules are not fetched.*vendor\/theme/)
  assert.match(notes[1] ?? '', /Git LFS.*photo\.jpg/)
})

test('a tree that an archive may not have is refused, and nothing is stored', async (t) => {
  const { git, source, stage } = await open(t)
  await symlink('../../etc/passwd', join(source, 'out'))
  await writeFile(join(source, 'index.html'), 'hello')
  const { folder, sha } = await stage()
  await assert.rejects(git.archive(folder, sha, { signal }), { reason: 'ARCHIVE_ENTRY_UNSAFE' })
})

test('a commit that is not there is refused with the words of git', async (t) => {
  const { git, source, stage } = await open(t)
  await writeFile(join(source, 'index.html'), 'hello')
  const { folder } = await stage()
  await assert.rejects(git.archive(folder, 'a'.repeat(40), { signal }), { reason: 'GIT_FAILED', message: /bad object/ })
  await assert.rejects(git.archive(folder, '--output=/x', { signal }), { reason: 'GIT_FAILED' })
})

test('git in a job has no network', async (t) => {
  const { git } = await open(t)
  let asked = 0
  const server = createServer((socket) => {
    asked++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const folder = await git.folders.make()
  t.after(() => folder.remove())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`
  const job = { folder, script: 'look', args: ['https', 'false', url, 'main'], signal } as const
  const look = async (more: { isOnline?: true }) => (await git.jobs.run({ ...job, ...more }, () => undefined)).exit.code
  assert.notEqual(await look({}), 0)
  assert.equal(asked, 0)
  assert.notEqual(await look({ isOnline: true }), 0)
  assert.ok(asked > 0)
})

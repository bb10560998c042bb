import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { holds } from '../../../test/support/fuzz.ts'
import { LIMITS } from '../../contract/index.ts'
import { commitOf, subjectOf } from './commit.ts'

const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nowhere', GIT_CONFIG_NOSYSTEM: '1' }
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    encoding: 'utf8',
    env: ENV,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd()

async function repository(t: TestContext, ...options: string[]): Promise<string> {
  const folder = join(await temporaryFolder(t), 'main')
  await mkdir(folder)
  git(folder, 'init', '-q', '-b', 'main', ...options)
  return folder
}

const commit = (folder: string, message: string) => git(folder, 'commit', '-q', '--allow-empty', '-m', message)
const shaOf = (folder: string) => git(folder, 'rev-parse', 'HEAD')

test('the commit, its branch and its subject are those that git prints', async (t) => {
  const folder = await repository(t)
  assert.equal(await commitOf(folder, undefined), null, 'no commit yet')
  git(folder, 'switch', '-qc', 'feature/größe')
  commit(folder, 'Fix the header\nand the footer\n\nA longer text.')
  const expected = { sha: shaOf(folder), branch: 'feature/größe', subject: git(folder, 'log', '-1', '--format=%s') }
  assert.equal(expected.subject, 'Fix the header and the footer')
  assert.deepEqual(await commitOf(folder, undefined), expected)

  await mkdir(join(folder, 'apps/web'), { recursive: true })
  assert.deepEqual(await commitOf(join(folder, 'apps/web'), undefined), expected)
})

test('a commit is found in packed branches and in packs, also as a difference from another one', async (t) => {
  const folder = await repository(t)
  const long = Array.from({ length: 40 }, (_, line) => `line ${line} of a text that all commits share`).join('\n')
  for (let number = 0; number < 60; number++) commit(folder, `Commit ${number}\n\n${long}`)
  git(folder, 'gc', '-q', '--aggressive')
  git(folder, 'pack-refs', '--all')
  const pack = (await readdir(join(folder, '.git/objects/pack'))).find((name) => name.endsWith('.idx')) ?? ''
  const listed = git(folder, 'verify-pack', '-v', join('.git/objects/pack', pack))
  assert.match(listed, /^\w{40} commit \d+ \d+ \d+ [1-9]\d* \w{40}$/m, 'some are differences')
  for (const number of [59, 30, 3, 0]) {
    git(folder, 'checkout', '-q', `main~${59 - number}`)
    assert.deepEqual(await commitOf(folder, undefined), { sha: shaOf(folder), subject: `Commit ${number}` })
  }
})

test('a worktree, a submodule, a shallow clone and one of SHA-256 have their own commits', async (t) => {
  const folder = await repository(t)
  commit(folder, 'one')
  commit(folder, 'two')
  const tree = `${folder}-tree`
  git(folder, 'worktree', 'add', '-q', '-b', 'other', tree)
  commit(tree, 'three')
  assert.deepEqual(await commitOf(tree, undefined), { sha: shaOf(tree), branch: 'other', subject: 'three' })

  const shallow = `${folder}-shallow`
  git(folder, 'clone', '-q', '--depth', '1', `file://${folder}`, shallow)
  assert.deepEqual(await commitOf(shallow, undefined), { sha: shaOf(folder), branch: 'main', subject: 'two' })

  git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', `file://${tree}`, 'part')
  const part = join(folder, 'part')
  assert.equal((await commitOf(part, undefined))?.subject, git(part, 'log', '-1', '--format=%s'))

  const newer = await repository(t, '--object-format=sha256')
  commit(newer, 'one')
  assert.deepEqual(await commitOf(newer, undefined), { sha: shaOf(newer), branch: 'main', subject: 'one' })
})

test('a CI names the branch of a commit that it checked out, and the commit where there is no repository', async (t) => {
  const folder = await repository(t)
  commit(folder, 'one')
  git(folder, 'checkout', '-q', '--detach')
  const sha = shaOf(folder)
  assert.deepEqual(await commitOf(folder, { sha, branch: 'main' }), { sha, branch: 'main', subject: 'one' })
  assert.deepEqual(await commitOf(folder, { sha: '1'.repeat(40), branch: 'x' }), { sha, subject: 'one' })
  const bare = await temporaryFolder(t)
  const ciCommit = { sha: '2'.repeat(40), branch: 'main', subject: 'From\x1b[31m a CI\n' }
  assert.deepEqual(await commitOf(bare, ciCommit), { ...ciCommit, subject: 'From [31m a CI' })
  assert.equal(await commitOf(bare, { sha: 'HEAD' }), null)
})

test('a hostile repository starts no program', async (t) => {
  const folder = await repository(t)
  commit(folder, 'one')
  const mark = join(folder, `ran-${process.pid}`)
  const program = join(folder, '.git/hooks/evil')
  await writeFile(program, `#!/bin/sh\ntouch '${mark}'\n`)
  await chmod(program, 0o755)
  for (const hook of ['post-index-change', 'reference-transaction', 'fsmonitor-watchman']) {
    await symlink(program, join(folder, '.git/hooks', hook))
  }
  const settings = ['core.fsmonitor', 'core.pager', 'core.sshCommand', 'gpg.program', 'filter.x.clean', 'diff.external']
  for (const setting of settings) git(folder, 'config', setting, program)
  git(folder, 'config', 'log.showSignature', 'true')
  await writeFile(join(folder, '.gitattributes'), '* filter=x diff=x\n')
  assert.equal((await commitOf(folder, undefined))?.subject, 'one')
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('ran-')),
    [],
  )
})

const HEADS: Record<string, string> = {
  'a way out': 'ref: refs/heads/../../../../etc/passwd',
  'an absolute path': 'ref: /etc/passwd',
  'a control character': 'ref: refs/heads/a\x1b[2J',
  'a loop': 'ref: refs/heads/loop',
  'a text': 'hello',
  'half an id': 'abc123',
  nothing: '',
}

for (const [what, head] of Object.entries(HEADS)) {
  test(`a HEAD with ${what} names no commit`, async (t) => {
    const folder = await repository(t)
    await mkdir(join(folder, '.git/refs/heads'), { recursive: true })
    await writeFile(join(folder, '.git/refs/heads/loop'), 'ref: refs/heads/loop\n')
    await writeFile(join(folder, '.git/HEAD'), head)
    assert.equal(await commitOf(folder, undefined), null)
  })
}

test('a pipe, a link and a bomb in the place of files of a repository are left alone', async (t) => {
  const folder = await repository(t)
  commit(folder, 'one')
  const sha = shaOf(folder)
  const object = join(folder, '.git/objects', sha.slice(0, 2), sha.slice(2))
  await rm(object)
  await writeFile(object, deflateSync(Buffer.concat([Buffer.from('commit 1\0'), Buffer.alloc(50 * 1024 * 1024)])))
  assert.deepEqual(await commitOf(folder, undefined), { sha, branch: 'main' })
  await rm(object)
  execFileSync('mkfifo', [object])
  assert.deepEqual(await commitOf(folder, undefined), { sha, branch: 'main' })
  await rm(join(folder, '.git/HEAD'))
  await symlink('/etc/hostname', join(folder, '.git/HEAD'))
  assert.equal(await commitOf(folder, undefined), null)
})

test('damaged packs and indexes of packs end with nothing, whatever they say', async (t) => {
  const folder = await repository(t)
  commit(folder, 'one')
  commit(folder, 'two')
  git(folder, 'gc', '-q')
  const sha = shaOf(folder)
  const packs = join(folder, '.git/objects/pack')
  const names = (await readdir(packs)).filter((name) => /\.(idx|pack)$/.test(name))
  const whole = await Promise.all(names.map((name) => readFile(join(packs, name))))
  const damage = fc.record({
    file: fc.nat(names.length - 1),
    at: fc.nat(2000),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  })
  await holds(
    fc.asyncProperty(damage, async ({ file, at, bytes }) => {
      const content = Buffer.from(whole[file] ?? [])
      content.set(bytes.subarray(0, Math.max(0, content.length - at)), Math.min(at, content.length))
      const path = join(packs, names[file] ?? '')
      await chmod(path, 0o644)
      await writeFile(path, content)
      assert.equal((await commitOf(folder, undefined))?.sha, sha)
      await writeFile(path, whole[file] ?? '')
    }),
    100,
  )
})

test('an index of a pack that states billions of entries ends with nothing', async (t) => {
  const folder = await repository(t)
  commit(folder, 'one')
  git(folder, 'gc', '-q')
  const sha = shaOf(folder)
  const packs = join(folder, '.git/objects/pack')
  const index = join(packs, (await readdir(packs)).find((name) => name.endsWith('.idx')) ?? '')
  const content = await readFile(index)
  // The counts of ids by their first byte follow the 8 bytes of the head.
  const first = Number.parseInt(sha.slice(0, 2), 16)
  for (let byte = 0; byte < 256; byte++) content.writeUInt32BE(byte < first ? 0x267e8507 : 0xd7000006, 8 + byte * 4)
  await chmod(index, 0o644)
  await writeFile(index, content)
  assert.deepEqual(await commitOf(folder, undefined), { sha, branch: 'main' })
})

test('a subject is one line, of the length that the service takes, and only of text in UTF-8', async (t) => {
  const folder = await repository(t)
  commit(folder, `${'ä'.repeat(LIMITS.messageLength - 2)}\u{1F600}\u{1F600} end`)
  const { subject = '' } = (await commitOf(folder, undefined)) ?? {}
  assert.ok(subject.length <= LIMITS.messageLength && subject.endsWith('…') && subject.isWellFormed())
  assert.equal(subjectOf(Buffer.from('tree x\nencoding ISO-8859-1\n\nGr\xfc\xdfe', 'latin1')), undefined)
  assert.equal(subjectOf(Buffer.from('tree x\n\n\nOne\n \ntwo')), 'One')
  assert.equal(subjectOf(Buffer.from('no end')), undefined)
})

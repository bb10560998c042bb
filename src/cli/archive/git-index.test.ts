import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { holds } from '../../../test/support/fuzz.ts'
import { idsIn, openGitIndex } from './git-index.ts'

const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nowhere', GIT_CONFIG_NOSYSTEM: '1' }
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    encoding: 'utf8',
    env: ENV,
  })

const PATHS = [
  '.env',
  '.env.production',
  'a',
  'ab',
  'abc/d',
  'abc/de',
  `deep/${'x'.repeat(200)}/${'y'.repeat(200)}`,
  'zürich',
]

for (const version of [2, 3, 4]) {
  test(`an index of version ${version} is read as git reads it`, async (t) => {
    const folder = await temporaryFolder(t)
    git(folder, 'init', '-q')
    for (const path of PATHS) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), `content of ${path}`)
    }
    git(folder, 'add', '.')
    // An entry with flags of its own makes it version 3.
    if (version === 3) {
      await writeFile(join(folder, 'later'), 'not added yet')
      git(folder, 'add', '--intent-to-add', 'later')
    } else git(folder, 'update-index', '--index-version', String(version))
    const index = await readFile(join(folder, '.git/index'))
    assert.equal(index.readUInt32BE(4), version)
    const lines = git(folder, 'ls-files', '-s', '-z').split('\0').filter(Boolean)
    const expected = lines.map((line) => /^\d+ (\w+) \d\t(.*)$/s.exec(line)?.slice(1) ?? [])
    assert.deepEqual([...idsIn(index)].sort(), expected.map(([id, path]) => [path, id]).sort())
  })
}

test('a file has the content that git has, in a repository and in a worktree of it', async (t) => {
  const folder = join(await temporaryFolder(t), 'main')
  await mkdir(folder)
  git(folder, 'init', '-q')
  await writeFile(join(folder, '.env'), 'A=1\n')
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'one')
  const other = `${folder}-other`
  git(folder, 'worktree', 'add', '-q', other)
  for (const top of [folder, other]) {
    const index = await openGitIndex(top)
    assert.equal(await index.hasContent('.env', join(top, '.env')), true)
    assert.equal(await index.hasContent('.env.local', join(top, '.env')), false)
    await writeFile(join(top, '.env'), 'A=2\n')
    assert.equal(await index.hasContent('.env', join(top, '.env')), false)
  }
})

test('a damaged index is read to its end, and never further', async (t) => {
  const folder = await temporaryFolder(t)
  git(folder, 'init', '-q')
  for (const path of ['.env', 'a', 'b']) await writeFile(join(folder, path), path)
  git(folder, 'add', '.')
  git(folder, 'update-index', '--index-version', '4')
  const index = await readFile(join(folder, '.git/index'))
  await holds(
    fc.property(fc.nat(index.length - 1), fc.nat(255), fc.nat(index.length), (at, byte, length) => {
      const damaged = Buffer.from(index.subarray(0, length))
      if (at < length) damaged[at] = byte
      assert.ok(idsIn(damaged).size <= 2 ** 16)
    }),
    300,
  )
})

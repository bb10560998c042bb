import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { filesOf } from '../archive/files.ts'
import { commitOf } from './commit.ts'

const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nowhere', GIT_CONFIG_NOSYSTEM: '1' }
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    encoding: 'utf8',
    env: ENV,
  }).trimEnd()

async function repository(t: TestContext) {
  const folder = join(await temporaryFolder(t), 'site')
  await mkdir(join(folder, 'apps/web'), { recursive: true })
  git(folder, 'init', '-q', '-b', 'main')
  await writeFile(join(folder, 'index.html'), 'one\n')
  await writeFile(join(folder, 'notes'), 'kept here\n')
  await writeFile(join(folder, 'apps/web/page'), 'page\n')
  await writeFile(join(folder, '.headlandignore'), 'notes\n')
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'one')
  return {
    folder,
    write: (path: string, text: string) => writeFile(join(folder, path), text),
    isDirty: async (at = '') => {
      const project = join(folder, at)
      return (await commitOf(project, undefined, (await filesOf(project)).files))?.isDirty
    },
  }
}

test('what is as it was committed is not dirty, also where times are others or a rule leaves a file out', async (t) => {
  const { folder, isDirty } = await repository(t)
  assert.equal(await isDirty(), false)
  await utimes(join(folder, 'index.html'), 1_000_000, 1_000_000)
  assert.equal(await isDirty(), false)
  assert.equal(await isDirty('apps/web'), false)
})

test('a file that is changed, new or deleted is dirty until it is committed', async (t) => {
  const { folder, write, isDirty } = await repository(t)
  const changes: (() => Promise<void>)[] = [
    () => write('index.html', 'two\n'),
    () => write('new', 'new\n'),
    () => rm(join(folder, 'apps/web/page')),
    () => rm(join(folder, 'notes')),
  ]
  for (const [index, change] of changes.entries()) {
    await change()
    assert.equal(await isDirty(), true, `change ${index}`)
    git(folder, 'add', '-A')
    assert.equal(await isDirty(), true, `change ${index}, added`)
    git(folder, 'commit', '-qm', `change ${index}`)
    assert.equal(await isDirty(), false, `change ${index}, committed`)
  }
})

test('of a folder in a repository only its own files count, and what was added elsewhere is not known', async (t) => {
  const { folder, write, isDirty } = await repository(t)
  await write('index.html', 'two\n')
  assert.equal(await isDirty('apps/web'), false)
  git(folder, 'add', '.')
  assert.equal(await isDirty('apps/web'), undefined)
  await write('apps/web/page', 'other\n')
  assert.equal(await isDirty('apps/web'), true)
})

test('a file that was changed in the moment of the commit, without another size, is dirty', async (t) => {
  const { folder, write, isDirty } = await repository(t)
  await write('index.html', 'two\n')
  const now = new Date()
  await utimes(join(folder, 'index.html'), now, now)
  assert.equal(await isDirty(), true)
})

test('line ends that a checkout wrote are no change', async (t) => {
  const { write, isDirty } = await repository(t)
  await write('index.html', 'one\r\n')
  assert.equal(await isDirty(), false)
})

test('with a damaged index it is not known whether files changed', async (t) => {
  const { folder, isDirty } = await repository(t)
  for (const text of ['', 'DIRC', 'DIRC\0\0\0\u0002\0\0\0\u0009', 'x'.repeat(5000)]) {
    await writeFile(join(folder, '.git/index'), text)
    assert.equal(await isDirty(), undefined)
  }
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, chown, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { UsageError } from '../../contract/index.ts'
import type { ClientEnvironment } from '../command.ts'
import { findProject, PROJECT_FILE, writeProject } from './project-file.ts'

const PROJECT = { account: 'acme', app: 'shop' }
const isRoot = process.getuid?.() === 0

const find = (folder: string, homeFolder = '/nowhere') =>
  findProject({ folder, environment: { homeFolder } as ClientEnvironment })

const write = (folder: string, content: unknown = PROJECT) =>
  writeFile(join(folder, PROJECT_FILE), typeof content === 'string' ? content : JSON.stringify(content))

test('it is written through no link, neither in its own place nor in that of a file beside it', async (t) => {
  const folder = await temporaryFolder(t)
  const precious = join(folder, 'precious')
  await writeFile(precious, 'mine')
  for (const name of [`${PROJECT_FILE}.new`, PROJECT_FILE]) await symlink(precious, join(folder, name))
  await writeProject(folder, PROJECT)
  assert.equal(await readFile(precious, 'utf8'), 'mine')
  assert.ok((await lstat(join(folder, PROJECT_FILE))).isFile())
  assert.deepEqual((await readdir(folder)).sort(), [PROJECT_FILE, `${PROJECT_FILE}.new`, 'precious'])
})

test('where it cannot be written, nothing is left behind', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, PROJECT_FILE, 'full'), { recursive: true })
  await assert.rejects(writeProject(folder, PROJECT))
  assert.deepEqual(await readdir(folder), [PROJECT_FILE])
})

test('it is found from every folder of its repository, and not from above that', async (t) => {
  const top = await temporaryFolder(t)
  const repository = join(top, 'repository')
  await mkdir(join(repository, 'packages/web'), { recursive: true })
  await mkdir(join(repository, '.git'))
  await write(top)
  assert.equal(await find(join(repository, 'packages/web')), undefined)
  await write(repository)
  assert.equal((await find(join(repository, 'packages/web')))?.folder, repository)
})

test('without a repository it is found below the home folder, and not in it; elsewhere in its own folder alone', async (t) => {
  const home = await temporaryFolder(t)
  const deep = join(home, 'sites/shop/src')
  await mkdir(deep, { recursive: true })
  await write(home)
  assert.equal(await find(deep, home), undefined)
  await write(join(home, 'sites'))
  assert.equal((await find(deep, home))?.folder, join(home, 'sites'))
  assert.equal(await find(deep, '/nowhere'), undefined)
  assert.equal((await find(join(home, 'sites'), '/nowhere'))?.folder, join(home, 'sites'))
  assert.equal((await find(home, home))?.folder, home)
})

test('one that another user put into a folder is not used, nor a repository of theirs around it', {
  skip: !isRoot && 'needs root',
}, async (t) => {
  const shared = await temporaryFolder(t)
  const folder = join(shared, 'project')
  await mkdir(folder)
  await write(shared)
  await chown(join(shared, PROJECT_FILE), 4711, 4711)
  await assert.rejects(find(shared), /belongs to another user, so it is not used/)
  await mkdir(join(shared, '.git'))
  await assert.rejects(find(folder), /belongs to another user/)
  await chown(join(shared, '.git'), 4711, 4711)
  assert.equal(await find(folder), undefined)
})

test('in a container, source of one owner is used by a process of another', {
  skip: !isRoot && 'needs root',
}, async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, '.git'))
  await mkdir(join(folder, 'web'))
  await write(folder)
  for (const path of ['', '.git', 'web', PROJECT_FILE]) await chown(join(folder, path), 4711, 4711)
  await chmod(folder, 0o755)
  assert.equal((await find(join(folder, 'web')))?.folder, folder)
})

test('a link, a pipe or a huge file in its place is refused, and not read', async (t) => {
  const folder = await temporaryFolder(t)
  await symlink('/dev/zero', join(folder, PROJECT_FILE))
  await assert.rejects(find(folder), /is a link: put the file itself in its place/)
  const piped = await temporaryFolder(t)
  await promisify(execFile)('mkfifo', [join(piped, PROJECT_FILE)])
  await assert.rejects(find(piped), /is not a file/)
  const large = await temporaryFolder(t)
  await write(large, ' '.repeat(100_000))
  await assert.rejects(find(large), /has more than 65536 bytes/)
})

const WRONG: Record<string, unknown>[] = [
  { account: 'acme/apps/x/environments#' },
  { account: '..' },
  { app: '../../credentials' },
  { app: 'shop?force=true' },
  { app: 'shop/environments/1:trace' },
  { environment: 'Production\nheadland: all is well' },
  { environment: 'x'.repeat(101) },
  { url: 'https://user:password@headland.example.com' },
  { url: 'file:///etc/passwd' },
  { constructor: 'x' },
  { account: 7 },
]

test('a field that is no such name is refused before anything is asked', async (t) => {
  const folder = await temporaryFolder(t)
  for (const wrong of WRONG) {
    await write(folder, wrong)
    await assert.rejects(find(folder), UsageError, JSON.stringify(wrong))
  }
  const right = {
    url: 'https://headland.example.com',
    account: 'acme',
    app: 'Shop_1',
    environment: 'Vorschau für Änne',
  }
  await write(folder, right)
  assert.deepEqual((await find(folder))?.project, right)
})

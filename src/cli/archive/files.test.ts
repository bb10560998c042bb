import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import { filesOf } from './files.ts'

type Tree = Record<string, string>

async function write(folder: string, tree: Tree): Promise<string> {
  for (const [path, text] of Object.entries(tree)) {
    await mkdir(join(folder, dirname(path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

const project = async (t: Scope, tree: Tree): Promise<string> => write(await temporaryFolder(t), tree)

const sent = async (folder: string): Promise<string[]> => (await filesOf(folder)).files.map(({ path }) => path)

/** What git says it would add; undefined where there is no git. */
function accordingToGit(folder: string): string[] | undefined {
  const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', env: GIT_ENV })
  try {
    git('--version')
  } catch {
    return undefined
  }
  git('init', '-q')
  return git('ls-files', '-co', '--exclude-standard', '-z').split('\0').filter(Boolean).sort()
}
const GIT_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nowhere', GIT_CONFIG_NOSYSTEM: '1' }

const RULES: { claim: string; tree: Tree; sent: string[] }[] = [
  {
    claim: 'a rule without a slash holds at every depth, one with a slash at one place',
    tree: { '.gitignore': '*.log\n/dist\n', 'a.log': '', 'b/c.log': '', 'dist/x': '', 'b/dist/x': '', 'b/c': '' },
    sent: ['.gitignore', 'b/c', 'b/dist/x'],
  },
  {
    claim: 'rules of a folder hold below it alone, and are stronger than those above',
    tree: {
      '.gitignore': '*.log\n',
      'a/.gitignore': '!keep.log\nown\n',
      'a/keep.log': '',
      'a/deep/keep.log': '',
      'a/own': '',
      'keep.log': '',
      own: '',
    },
    sent: ['.gitignore', 'a/.gitignore', 'a/deep/keep.log', 'a/keep.log', 'own'],
  },
  {
    claim: 'what is in a folder that is left out cannot be taken in again',
    tree: { '.gitignore': 'out\n!out/keep\n', 'out/keep': '', 'src/x': '' },
    sent: ['.gitignore', 'src/x'],
  },
  {
    claim: 'a folder that is taken in again below does not take in what other rules leave out of it',
    tree: {
      '.gitignore': 'build\n*.map\n',
      'a/.gitignore': '!build\n',
      'a/build/x': '',
      'a/build/x.map': '',
      'build/y': '',
    },
    sent: ['.gitignore', 'a/.gitignore', 'a/build/x'],
  },
  {
    claim: 'everything but one folder',
    tree: { '.gitignore': '/*\n!/src\n!/.gitignore\n', 'src/a': '', 'b/c': '', d: '' },
    sent: ['.gitignore', 'src/a'],
  },
  {
    claim: 'a slash at the end is about folders, and letters are as they are written',
    tree: { '.gitignore': 'tmp/\nFOO\n', 'a/tmp/x': '', 'b/tmp': '', foo: '' },
    sent: ['.gitignore', 'b/tmp', 'foo'],
  },
  {
    claim: 'two stars, sets of characters, escapes, comments and the line ends of Windows',
    tree: {
      '.gitignore': '\uFEFFa/**/z\r\n[0-9]?.txt\r\n# no rule\r\n\\#file\r\nspaced name\\ \r\nend  \r\n',
      'a/z': '',
      'a/b/c/z': '',
      '1a.txt': '',
      '#file': '',
      'spaced name ': '',
      end: '',
      'b.txt': '',
    },
    sent: ['.gitignore', 'b.txt'],
  },
  {
    claim: 'a folder with the letters of a pattern in its name has rules of its own',
    tree: { '[id]/.gitignore': 'x\n/y\n', '[id]/x': '', '[id]/y': '', '[id]/z/x': '', 'i/x': '', '*/x': '' },
    sent: ['*/x', '[id]/.gitignore', 'i/x'],
  },
]

for (const { claim, tree, sent: expected } of RULES) {
  test(`rules as git reads them: ${claim}`, async (t) => {
    const folder = await project(t, tree)
    assert.deepEqual(await sent(folder), expected)
    const git = accordingToGit(folder)
    if (git) assert.deepEqual(git, expected, 'git says otherwise')
  })
}

test('.headlandignore has the last word, in both directions', async (t) => {
  const folder = await project(t, {
    '.gitignore': 'generated/\n',
    '.headlandignore': '!generated/\nvideos/\n',
    'generated/page.js': '',
    'videos/large.mov': '',
    'src/.headlandignore': '*.test.js\n',
    'src/a.js': '',
    'src/a.test.js': '',
  })
  const expected = ['.gitignore', '.headlandignore', 'generated/page.js', 'src/.headlandignore', 'src/a.js']
  assert.deepEqual(await sent(folder), expected)
})

test('packages, history, the project file and what file managers leave are never sent', async (t) => {
  const folder = await project(t, {
    '.headlandignore': '!node_modules\n!.git\n!.headland.json\n',
    '.headland.json': '{}',
    'node_modules/a/index.js': '',
    'packages/b/node_modules/c.js': '',
    '.git/HEAD': '',
    '.DS_Store': '',
    'packages/b/.headland.json': '{}',
    'index.js': '',
  })
  assert.deepEqual(await sent(folder), ['.headlandignore', 'index.js', 'packages/b/.headland.json'])
})

const SETTINGS = ['.env', '.env.local', '.env.production', '.env.production.local', '.envrc', 'app/.env.local']

/** A repository in which these files are added as they stand. */
function commit(folder: string, ...paths: string[]) {
  execFileSync('git', ['-C', folder, 'init', '-q'], { env: GIT_ENV })
  execFileSync('git', ['-C', folder, 'add', '-f', ...paths], { env: GIT_ENV })
}

test('no rule of a repository takes the settings of this machine in', async (t) => {
  const rules = SETTINGS.map((path) => `!${path}\n`).join('')
  const tree = Object.fromEntries(SETTINGS.map((path) => [path, `SECRET=${path}`]))
  const folder = await project(t, { ...tree, '.gitignore': rules, '.headlandignore': rules, 'index.html': '' })
  const { files, envFiles } = await filesOf(folder)
  assert.deepEqual(
    files.map(({ path }) => path),
    ['.gitignore', '.headlandignore', 'index.html'],
  )
  assert.deepEqual(envFiles, { sent: [], leftOut: SETTINGS })
})

test('of settings, what git has is sent, unless it is local, was changed since, or a rule leaves it out', async (t) => {
  const folder = await project(t, {
    '.env': 'PUBLIC=1',
    '.env.production': 'PUBLIC=2',
    '.env.test': 'PUBLIC=3',
    '.env.local': 'PUBLIC=4',
    'web/.env': 'PUBLIC=5',
    '.headlandignore': '.env.test\n',
  })
  commit(folder, '.')
  await writeFile(join(folder, '.env'), 'SECRET=1')
  await writeFile(join(folder, 'web/.env.staging'), 'SECRET=2')
  const { envFiles } = await filesOf(folder)
  assert.deepEqual(envFiles, {
    sent: ['.env.production', 'web/.env'],
    leftOut: ['.env', '.env.local', '.env.test', 'web/.env.staging'],
  })
  assert.deepEqual(await sent(join(folder, 'web')), ['.env'], 'also from a folder of the repository')
})

test('settings that are asked for by name are sent, and examples are sent without', async (t) => {
  const folder = await project(t, {
    '.env.local': '',
    'web/.env': '',
    '.env.example': '',
    '.env.local.sample': '',
    '.environment': '',
    '.gitignore': '.env*\n!.env.example\n!.env.local.sample\n!.environment\n',
  })
  assert.deepEqual(await sent(folder), ['.env.example', '.env.local.sample', '.environment', '.gitignore'])
  const { files, envFiles } = await filesOf(folder, ['.env.local'])
  assert.ok(files.some(({ path }) => path === '.env.local'))
  assert.deepEqual(envFiles, { sent: ['.env.local'], leftOut: ['web/.env'] })
})

test('rules that are a device, a pipe or without end are refused, and not read', async (t) => {
  const folder = await project(t, { 'index.html': '' })
  await symlink('/dev/zero', join(folder, '.gitignore'))
  await assert.rejects(filesOf(folder), /\.gitignore is not a file/)
  const large = await project(t, { 'index.html': '', '.headlandignore': 'a\n'.repeat(600_000) })
  await assert.rejects(filesOf(large), /\.headlandignore has more than 1048576 bytes/)
})

test('the rules of the repository around a project hold in it', async (t) => {
  const top = await project(t, {
    '.git/HEAD': '',
    '.gitignore': 'coverage\n/apps/web/secret\n',
    'apps/.gitignore': '*.tmp\n',
    'apps/web/index.js': '',
    'apps/web/secret': '',
    'apps/web/a.tmp': '',
    'apps/web/coverage/x': '',
  })
  assert.deepEqual(await sent(join(top, 'apps/web')), ['index.js'])
})

test('a folder that the repository leaves out is sent when it is named', async (t) => {
  const top = await project(t, {
    '.git/HEAD': '',
    '.gitignore': 'dist\n*.map\n',
    'dist/index.html': '',
    'dist/a.map': '',
  })
  assert.deepEqual(await sent(join(top, 'dist')), ['a.map', 'index.html'])
})

test('a link stays a link by the shortest way, and one that leads out of the project is refused by name', async (t) => {
  const folder = await project(t, { 'shared/a.js': 'a', 'app/index.js': '' })
  await symlink('../shared', join(folder, 'app/first'))
  await symlink('first/a.js', join(folder, 'app/second'))
  await symlink(join(folder, 'shared/a.js'), join(folder, 'app/absolute'))
  await symlink('nowhere', join(folder, 'app/broken'))
  const { files, skipped } = await filesOf(folder)
  const targets = files.flatMap(({ path, target }) => (target === undefined ? [] : [[path, target]]))
  assert.deepEqual(targets, [
    ['app/absolute', '../shared/a.js'],
    ['app/first', '../shared'],
    ['app/second', '../shared/a.js'],
  ])
  assert.deepEqual(skipped, [{ path: 'app/broken', why: 'a link to nowhere' }])

  await symlink('../../..', join(folder, 'app/out'))
  await assert.rejects(filesOf(folder), /app\/out: a link that leads out of the project/)
  await writeFile(join(folder, '.headlandignore'), 'app/out\n')
  await filesOf(folder)
})

test('names that no archive may have are refused by name', async (t) => {
  const folder = await project(t, { 'a\\b.js': '' })
  await assert.rejects(filesOf(folder), /a\\b\.js: a control character or a back-slash in the name/)
  const other = await project(t, { 'a\x1b[2J': '' })
  await assert.rejects(filesOf(other), ({ message }: Error) => !message.includes('\x1b'))
})

test('a folder with nothing to send says so, and whether rules are to blame', async (t) => {
  await assert.rejects(filesOf(await temporaryFolder(t)), /There is nothing to send in [^:]+\.$/)
  const folder = await project(t, { '.gitignore': '*\n', 'index.html': '' })
  await assert.rejects(filesOf(folder), /the rules of \.gitignore and \.headlandignore leave everything out/)
})

test('whether a file may be run is kept, and nothing else of its mode', async (t) => {
  const folder = await project(t, { 'run.sh': '', 'read.txt': '' })
  await chmod(join(folder, 'run.sh'), 0o700)
  await chmod(join(folder, 'read.txt'), 0o600)
  const { files } = await filesOf(folder)
  assert.deepEqual(
    files.map(({ path, isExecutable }) => [path, isExecutable]),
    [
      ['read.txt', false],
      ['run.sh', true],
    ],
  )
})

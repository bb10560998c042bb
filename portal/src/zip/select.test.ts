import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRules, type Rules } from './rules.ts'
import { type Judge, SELECT_LIMITS, type Selection, type SelectLimits, selectFiles, type TreeEntry } from './select.ts'

/** A folder by its paths; those that end with a slash are empty folders. */
function folderOf(files: Record<string, string>, name = 'app'): TreeEntry {
  const below = new Map<string, Record<string, string>>()
  const here: TreeEntry[] = []
  for (const [path, content] of Object.entries(files)) {
    const slash = path.indexOf('/')
    if (slash < 0) here.push(fileOf(path, content))
    else {
      const inside = below.get(path.slice(0, slash)) ?? {}
      if (slash + 1 < path.length) inside[path.slice(slash + 1)] = content
      below.set(path.slice(0, slash), inside)
    }
  }
  return folder(name, [...here, ...[...below].map(([at, inside]) => folderOf(inside, at))])
}

const fileOf = (name: string, content = ''): TreeEntry => ({
  kind: 'file',
  name,
  open: async () => new File([content], name),
})

const folder = (name: string, entries: TreeEntry[]): TreeEntry => ({
  kind: 'folder',
  name,
  async *list() {
    for (let at = 0; at < entries.length; at += 100) yield entries.slice(at, at + 100)
  },
})

/** Applies the rules without a worker. */
function createJudge(): Judge['judge'] {
  const byFolder = new Map<string, Rules>()
  return async ({ folder: at, texts, names }) => {
    const around = at === '' ? createRules() : byFolder.get(at.slice(0, Math.max(0, at.lastIndexOf('/'))))
    const rules = (around as Rules).within(at, texts)
    byFolder.set(at, rules)
    return names.map(({ name, isFolder }) => rules.leavesOut(at === '' ? name : `${at}/${name}`, isFolder))
  }
}

const select = (
  given: TreeEntry[],
  { limits = {}, signal = new AbortController().signal }: { limits?: Partial<SelectLimits>; signal?: AbortSignal } = {},
): Promise<Selection> =>
  selectFiles(given, {
    judge: createJudge(),
    signal,
    onProgress: () => undefined,
    limits: { ...SELECT_LIMITS, ...limits },
  })

const pathsOf = (chosen: Selection['files']): string[] => chosen.map(({ path }) => path).sort()
const problem = (reason: string, message: RegExp) => (error: { problem: { reason: string; message: string } }) => {
  assert.equal(error.problem.reason, reason)
  assert.match(error.problem.message, message)
  return true
}

test('local settings and what the rules name are not among the files, whatever a rule takes back', async () => {
  const project = folderOf({
    'package.json': '{}',
    '.env': 'A=1',
    '.env.local': 'B=2',
    '.env.example': 'A=',
    'apps/web/.env.production.local': 'C=3',
    '.gitignore': 'dist/\n*.log\n',
    '.headlandignore': '!.env.local\n!.env\n!node_modules\n!.git\n!kept.log\n',
    'dist/x.js': '',
    'out.log': '',
    'kept.log': '',
    'node_modules/a/index.js': '',
    'apps/web/node_modules/b/index.js': '',
    '.git/config': '',
    '.headland.json': '{}',
  })
  const { files, localSettings, leftOut } = await select([project])
  assert.deepEqual(pathsOf(files), ['.env.example', '.gitignore', '.headlandignore', 'kept.log', 'package.json'])
  assert.deepEqual(pathsOf(localSettings), ['.env', '.env.local', 'apps/web/.env.production.local'])
  assert.deepEqual(leftOut.names.sort(), [
    '.git/',
    '.headland.json',
    'apps/web/node_modules/',
    'dist/',
    'node_modules/',
    'out.log',
  ])
  assert.equal(leftOut.count, 6)
})

test('local settings that a rule leaves out are left out, and nothing is asked about them', async () => {
  const { localSettings, leftOut } = await select([
    folderOf({ '.gitignore': '.env*\n', '.env.local': 'x', 'index.html': '' }),
  ])
  assert.deepEqual([localSettings, leftOut.names], [[], ['.env.local']])
})

test('several things that are dropped together are a project; one folder is taken off around it', async () => {
  const several = await select([folderOf({ 'a.js': '' }, 'src'), fileOf('package.json', '{}'), fileOf('.env')])
  assert.deepEqual(pathsOf(several.files), ['package.json', 'src/a.js'])
  assert.equal(several.localSettings.length, 1)
  assert.deepEqual(pathsOf((await select([folderOf({ 'src/a.js': '' })])).files), ['src/a.js'])
})

const HOSTILE: [what: string, entries: TreeEntry[], message: RegExp][] = [
  ['a name that leads up', [fileOf('..')], /the name \.\./],
  ['an absolute name', [fileOf('/etc/passwd')], /a slash in the name/],
  ['a folder that leads up', [folder('..', [fileOf('x')])], /the name \.\./],
  ['a back-slash', [fileOf('..\\x')], /a slash in the name/],
  ['a drive letter', [fileOf('C:x')], /drive letter/],
  ['a control character', [fileOf('a\nb')], /^a\ufffdb: a control character/],
  ['half of a character', [fileOf('a\ud800')], /not UTF-8/],
  ['a name without end', [fileOf('x'.repeat(300))], /more than 255 bytes/],
  ['an empty name', [fileOf('')], /an empty name/],
  ['names that differ in case only', [fileOf('Readme'), fileOf('README')], /differs from Readme in case/],
  ['a folder and a file that differ in case only', [folder('Src', []), fileOf('src')], /in case/],
  ['names that differ in Unicode form only', [fileOf('é'), fileOf('e\u0301')], /spelling only/],
  ['the same name twice', [fileOf('a'), fileOf('a')], /differs from a/],
]

for (const [what, entries, message] of HOSTILE) {
  test(`a drop with hostile names is refused in words about the file: ${what}`, async () => {
    await assert.rejects(select([folder('app', entries)]), problem('ARCHIVE_ENTRY_UNSAFE', message))
    await assert.rejects(select([fileOf('other'), ...entries]), problem('ARCHIVE_ENTRY_UNSAFE', message))
  })
}

test('a folder that contains itself comes to an end', async () => {
  const loop: TreeEntry = {
    kind: 'folder',
    name: 'a',
    async *list() {
      yield [loop]
    },
  }
  await assert.rejects(select([loop]), problem('ARCHIVE_ENTRY_UNSAFE', /128 folders deep: a link may lead back/))
  // With two folders at each level there are 2^128 paths: the first that is too deep stops the walk.
  const wide: TreeEntry = { ...loop, list: async function* () { yield [{ ...wide, name: 'b' }, { ...wide, name: 'c' }] } } // biome-ignore format: one line
  await assert.rejects(select([wide]), problem('ARCHIVE_ENTRY_UNSAFE', /128 folders deep/))
})

/** An endless folder that counts how many entries were read. */
function endless(make: (index: number) => TreeEntry) {
  let asked = 0
  const entry: TreeEntry = {
    kind: 'folder',
    name: 'endless',
    async *list() {
      for (;;) yield Array.from({ length: 100 }, () => make(asked++))
    },
  }
  return { entry, asked: () => asked }
}

test('a folder without end is read up to a bound, and no further', async () => {
  const { entry, asked } = endless((index) => fileOf(`f${index}`))
  await assert.rejects(select([entry]), problem('ARCHIVE_TOO_LARGE', /more than 250,000 files and folders/))
  assert.ok(asked() <= SELECT_LIMITS.entries + 100, `${asked()} were asked for`)
})

test('100,000 files are more than a zip holds, and are refused before any is packed', async () => {
  const many = Array.from({ length: 100_000 }, (_, index) => fileOf(`f${index}`))
  await assert.rejects(select([folder('app', many)]), problem('ARCHIVE_TOO_LARGE', /65,535 files to send/))
})

test('100,000 files that are left out keep nothing from being sent', async () => {
  const many = Array.from({ length: 100_000 }, (_, index) => fileOf(`${index}.log`))
  const { files, leftOut } = await select([
    folder('app', [...many, fileOf('.gitignore', '*.log'), fileOf('index.html')]),
  ])
  assert.deepEqual(pathsOf(files), ['.gitignore', 'index.html'])
  assert.deepEqual([leftOut.count, leftOut.names.length], [100_000, SELECT_LIMITS.named])
})

test('a huge file is too much before it is read', async () => {
  const huge: TreeEntry = {
    kind: 'file',
    name: 'huge.bin',
    open: async () => ({ size: 3 * 1024 ** 3, text: () => assert.fail('was read') }) as unknown as File,
  }
  await assert.rejects(select([folder('app', [huge])]), problem('ARCHIVE_TOO_LARGE', /2\.0 GB/))
  const rules = { ...huge, name: '.gitignore' }
  await assert.rejects(select([folder('app', [rules])]), problem('ARCHIVE_ENTRY_UNSAFE', /256 KB/))
})

test('what cannot be read is named', async () => {
  const locked: TreeEntry = { kind: 'file', name: 'locked', open: () => Promise.reject(new Error('no permission')) }
  await assert.rejects(
    select([folder('app', [locked])]),
    problem('ARCHIVE_ENTRY_UNSAFE', /^locked cannot be read: no permission/),
  )
})

test('a drop with nothing to send says so', async () => {
  await assert.rejects(select([folder('app', [])]), problem('ARCHIVE_EMPTY', /no file/))
  await assert.rejects(select([folderOf({ 'node_modules/x': '' })]), problem('ARCHIVE_EMPTY', /left out/))
})

test('reading stops when it is cancelled', async () => {
  const ending = new AbortController()
  const { entry, asked } = endless((index) => {
    if (index === 1000) ending.abort(new Error('enough'))
    return fileOf(`f${index}`)
  })
  await assert.rejects(select([entry], { signal: ending.signal }), /enough/)
  assert.ok(asked() <= 1200)
})

/** The picture in ARCHITECTURE.md is the house that stands in `src/`. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  ADAPTERS,
  crossings,
  environmentReaders,
  importsOf,
  readFloors,
  type Source,
  shells,
  strayRooms,
} from './support/walls.ts'

const TOP = fileURLToPath(new URL('..', import.meta.url))

async function sourcesIn(...folders: string[]): Promise<Source[]> {
  const found: Source[] = []
  for (const folder of folders) {
    for (const entry of await readdir(join(TOP, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !(entry.name.endsWith('.ts') || folder === 'bin')) continue
      const file = join(entry.parentPath, entry.name)
      found.push({ path: file.slice(TOP.length).replaceAll(sep, '/'), text: await readFile(file, 'utf8') })
    }
  }
  return found
}

const house = await sourcesIn('src')
const everything = await sourcesIn('src', 'bin', 'bench', 'test', 'scripts', 'torture')
const floors = readFloors(await readFile(join(TOP, 'ARCHITECTURE.md'), 'utf8'))

test('every room of src/ stands in the table of floors, and every room of the table in src/', () => {
  assert.deepEqual(strayRooms(house, floors), [])
})

test('a room imports only from floors below its own, through index.ts, and only main.ts chooses adapters', () => {
  assert.deepEqual(crossings(house, floors), [])
})

test('the client knows the ground floor and nothing else of the house', () => {
  const taken = house
    .filter(({ path }) => path.startsWith('src/cli/') && !path.endsWith('.test.ts'))
    .flatMap(({ path, text }) => importsOf(text).map((specifier) => join(path, '..', specifier)))
    .filter((target) => target.startsWith('src/') && !target.startsWith('src/cli/'))
  assert.deepEqual([...new Set(taken)].sort(), ['src/base/index.ts', 'src/contract/index.ts'])
})

test('the edge process takes its own room, http and the watchdog, which take nothing', () => {
  const takenBy = (room: string, outOf: (path: string) => boolean) =>
    house
      .filter(({ path }) => path.startsWith(`src/${room}/`) && !path.endsWith('.test.ts') && outOf(path))
      .flatMap(({ path, text }) => importsOf(text).map((specifier) => join(path, '..', specifier)))
      .filter((target) => target.startsWith('src/') && !target.startsWith(`src/${room}/`))
  // What the control process does for the edge: the edge process does not load it.
  const isOfEdgeProcess = (path: string) => !['src/edge/watch.ts', 'src/edge/static/make-manifest.ts'].includes(path)
  const lower = ['http', 'watchdog']
  assert.deepEqual(
    [...new Set(takenBy('edge', isOfEdgeProcess))].toSorted(),
    lower.map((room) => `src/${room}/index.ts`),
  )
  for (const room of lower)
    assert.deepEqual(
      takenBy(room, () => true),
      [],
    )
})

test('only config.ts reads process.env', () => {
  assert.deepEqual(environmentReaders(house), [])
  assert.match(house.find(({ path }) => path === 'src/config.ts')?.text ?? '', /process\.env/)
})

test('nothing is handed to a shell', () => {
  assert.deepEqual(shells(everything), [])
})

test('every adapter of the list is there', () => {
  for (const adapter of ADAPTERS)
    assert.ok(
      house.some(({ path }) => path === adapter),
      `${adapter} is not there`,
    )
})

const TABLE = `
| floor | rooms | they know about |
|---|---|---|
| 6 | \`main.ts\`, \`config.ts\` | everything |
| 2 | \`apps/\`, \`edge/\` | a trade each |
| 1 | \`storage/\` | the outside world |
| 0 | \`base/\` | nothing |

| 5 | \`stairs/\` | not a part of the table |
`
const small = readFloors(TABLE)

test('the table of floors is read row by row, up to its end', () => {
  assert.deepEqual(
    [...small],
    [
      ['main.ts', 6],
      ['config.ts', 6],
      ['apps/', 2],
      ['edge/', 2],
      ['storage/', 1],
      ['base/', 0],
    ],
  )
  assert.throws(() => readFloors('no table'), /no table/)
  assert.throws(() => readFloors(TABLE.replace('`edge/`', '`base/`')), /base\/ stands in the table twice/)
})

test('a missing room and a room too many are both named', () => {
  const modules = ['src/main.ts', 'src/config.ts', 'src/apps/index.ts', 'src/storage/sql/sql.ts', 'src/cellar/index.ts']
  assert.deepEqual(strayRooms(modules.map(empty), small), [
    'src/cellar/ is not in the table of floors',
    'the table has edge/, src/ has not',
    'the table has base/, src/ has not',
  ])
})

const empty = (path: string): Source => ({ path, text: '' })

const WELL_BUILT: Source[] = [
  {
    path: 'src/main.ts',
    text: `import { a } from './apps/index.ts'\nimport { openSqlite } from './storage/sqlite.ts'`,
  },
  { path: 'src/main.ts', text: `import type { Config } from './config.ts'\nimport('./edge/index.ts')` },
  { path: 'src/apps/apps.ts', text: `import { names } from './names/deep.ts'\nexport * from '../base/index.ts'` },
  { path: 'src/apps/apps.ts', text: `import fs from 'node:fs'\nimport { fastify } from 'fastify'` },
  { path: 'src/apps/names/deep.ts', text: `import { a } from '../apps.ts'` },
  { path: 'src/apps/apps.test.ts', text: `import { openSqlite } from '../storage/sqlite.ts'` },
  { path: 'src/apps/apps.ts', text: `// import '../edge/index.ts'\n/* from '../edge/index.ts' */` },
  {
    path: 'src/apps/apps.ts',
    text: "const text = \"import '../edge/index.ts'\"; const more = `from '../edge/index.ts'`",
  },
  { path: 'src/apps/apps.ts', text: `const quote = /['"\`]/\nconst half = 4 / 2\nexport { quote, half }` },
]

for (const [number, source] of WELL_BUILT.entries()) {
  test(`the walls let good source ${number + 1} through`, () => assert.deepEqual(crossings([source], small), []))
}

type Broken = { rule: string; path: string; text: string; complaint: RegExp }

const BROKEN: Broken[] = [
  {
    rule: 'an import upward',
    path: 'src/storage/sql/sql.ts',
    text: `import { apps } from '../apps/index.ts'`,
    complaint: /^src\/storage\/sql\.ts imports '\.\.\/apps\/index\.ts': upward, from storage\/ on floor 1 to apps\/ on/,
  },
  {
    rule: 'an import of the top floor',
    path: 'src/apps/apps.ts',
    text: `import { type Config } from '../config.ts'`,
    complaint: /upward, from apps\/ on floor 2 to config\.ts on floor 6/,
  },
  {
    rule: 'an import sideways',
    path: 'src/apps/apps.ts',
    text: `import { edge } from '../edge/index.ts'`,
    complaint:
      /^src\/apps\/apps\.ts imports '\.\.\/edge\/index\.ts': sideways, from apps\/ to edge\/, both on floor 2$/,
  },
  {
    rule: 'a type import sideways',
    path: 'src/apps/apps.ts',
    text: `import type {\n  Edge,\n  Target,\n} from '../edge/index.ts'`,
    complaint: /sideways/,
  },
  {
    rule: 'a re-export sideways',
    path: 'src/apps/index.ts',
    text: `export { edge } from "../edge/index.ts"`,
    complaint: /sideways/,
  },
  {
    rule: 'an import for its effects alone',
    path: 'src/apps/index.ts',
    text: `import '../edge/index.ts'`,
    complaint: /sideways/,
  },
  {
    rule: 'an import at run time',
    path: 'src/apps/apps.ts',
    text: `const { edge } = await import(\n  // late\n  '../edge/index.ts'\n)`,
    complaint: /sideways/,
  },
  {
    rule: 'an import inside a template',
    path: 'src/apps/apps.ts',
    text: `const text = \`\${\`{\${1}\`} \${await import('../edge/index.ts')}\``,
    complaint: /sideways/,
  },
  {
    rule: 'an import inside a type',
    path: 'src/apps/apps.ts',
    text: `export type Edge = import('../edge/index.ts').Edge`,
    complaint: /sideways/,
  },
  {
    rule: 'a file that another room starts by its URL',
    path: 'src/apps/apps.ts',
    text: `fork(new URL('../edge/process.ts', import.meta.url))`,
    complaint: /sideways/,
  },
  {
    rule: 'an import that a comment or a regular expression stands before',
    path: 'src/apps/apps.ts',
    text: `const quote = text.replace(/['/*]/, '') // it's\nimport { edge } from '../edge/index.ts'`,
    complaint: /sideways/,
  },
  {
    rule: 'an import past index.ts',
    path: 'src/apps/apps.ts',
    text: `import { statement } from '../storage/sql.ts'`,
    complaint: /^src\/apps\/apps\.ts imports '\.\.\/storage\/sql\.ts': past the index\.ts of storage\/$/,
  },
  {
    rule: 'an import past index.ts by main.ts',
    path: 'src/main.ts',
    text: `import { statement } from './storage/sql.ts'`,
    complaint: /past the index\.ts of storage\//,
  },
  {
    rule: "an import of a deeper folder's index.ts",
    path: 'src/apps/apps.ts',
    text: `import { MIGRATIONS } from '../storage/migrations/index.ts'`,
    complaint: /past the index\.ts of storage\//,
  },
  {
    rule: 'an adapter imported from above',
    path: 'src/apps/apps.ts',
    text: `import { openSqlite } from '../storage/sqlite.ts'`,
    complaint:
      /^src\/apps\/apps\.ts imports '\.\.\/storage\/sqlite\.ts': that is an adapter, and only main\.ts and machine\.ts choose/,
  },
  {
    rule: 'an adapter handed out by its own room',
    path: 'src/storage/index.ts',
    text: `export * from './blobs-disk.ts'`,
    complaint: /that is an adapter/,
  },
  {
    rule: 'an import out of src/',
    path: 'src/apps/apps.ts',
    text: `import { startService } from '../../test/support/service.ts'`,
    complaint: /outside of src\//,
  },
  {
    rule: 'an import of a computed name',
    path: 'src/apps/apps.ts',
    text: 'const room = "../edge"\nawait import(room)',
    complaint: /^src\/apps\/apps\.ts imports a computed name/,
  },
]

for (const { rule, path, text, complaint } of BROKEN) {
  test(`the walls complain about ${rule}`, () => {
    const complaints = crossings([{ path, text }], small)
    assert.equal(complaints.length, 1, complaints.join('\n'))
    assert.match(complaints[0] ?? '', complaint)
  })
}

const READS_ENVIRONMENT = [
  'const home = process.env.HOME',
  'const { HOME } = process.env',
  "const home = process['env'].HOME",
  'const { env, argv } = process',
  'const home = globalThis.process?.env',
  "import { env } from 'node:process'",
]

for (const text of READS_ENVIRONMENT) {
  test(`the walls complain about a room that reads the environment by: ${text}`, () => {
    assert.equal(environmentReaders([{ path: 'src/apps/apps.ts', text }]).length, 1)
    assert.deepEqual(environmentReaders([{ path: 'src/config.ts', text }]), [])
  })
}

test('the walls let a room speak of the environment without reading it', () => {
  const text = `// process.env\nfork(file, { env: {} })\nconst text = 'process.env'\nprocess.exit()`
  assert.deepEqual(environmentReaders([{ path: 'src/apps/apps.ts', text }]), [])
})

const STARTS_SHELL = [
  "import { exec } from 'node:child_process'",
  "import { spawn, execSync as run } from 'node:child_process'",
  "import { type ChildProcess, exec } from 'child_process'",
  "import * as child from 'node:child_process'",
  "import child from 'node:child_process'",
  "const child = await import('node:child_process')",
  "const { exec } = await import('node:child_process')",
  "const child = require('child_process')",
  "spawn('ls', [], { shell: true })",
  "spawn('ls', [], { 'shell': true })",
  "spawn('ls', [], { shell: '/bin/sh' })",
]

for (const text of STARTS_SHELL) {
  test(`the walls complain about a shell started by: ${text}`, () => {
    for (const path of ['src/apps/apps.ts', 'bin/headland', 'bench/run.ts', 'test/e2e/some.test.ts']) {
      const complaints = shells([{ path, text }])
      assert.equal(complaints.length, 1, complaints.join('\n'))
      assert.ok(complaints[0]?.startsWith(`${path} `))
    }
  })
}

test('the walls let a program be started with a list of arguments', () => {
  const text = `#!/usr/bin/env node
import { type ChildProcess, execFile, spawn } from 'node:child_process'
const found = /shell: true/.exec('shell: true')
spawn('ls', ['-l'], { shell: false })`
  assert.deepEqual(shells([{ path: 'src/apps/apps.ts', text }]), [])
})

test('every way to import is seen, in every form that Node and TypeScript know', () => {
  const text = `
import a from './a.ts'
import { b, type B } from './b.ts'
import type { C } from './c.ts'
import './d.ts'
export * from './e.ts'
export * as f from './f.ts'
export type { G } from './g.ts'
const h = await import('./h.ts')
const i = new URL('./i.ts', import.meta.url)
const j = import.meta.resolve('./j.ts')
type K = typeof import('./k.ts')
import data from './l.json' with { type: 'json' }
const none = Array.from('./m.ts') ?? new URL('./n.ts', 'http://localhost')
`
  const names = importsOf(text).map((specifier) => specifier.charAt(2))
  assert.equal(names.sort().join(''), 'abcdefghijkl')
})

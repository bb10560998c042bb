/** The layers in ARCHITECTURE.md are those of `src/`. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADAPTERS, crossings, readLayers, strayModules } from '../support/architecture/layers.ts'
import { importsOf, type Source } from '../support/architecture/source.ts'
import { readText, sourcesIn } from '../support/architecture/tree.ts'

const service = await sourcesIn('src')
const layers = readLayers(await readText('ARCHITECTURE.md'))

test('every module of src/ stands in the table of layers, and every module of the table in src/', () => {
  assert.deepEqual(strayModules(service, layers), [])
})

test('a module imports only from layers below its own, through index.ts, and few files choose adapters', () => {
  assert.deepEqual(crossings(service, layers), [])
})

test('the client knows the lowest layer and nothing else of the service', () => {
  const taken = service
    .filter(({ path }) => path.startsWith('src/cli/') && !path.endsWith('.test.ts'))
    .flatMap(({ path, text }) => importsOf(text).map((specifier) => join(path, '..', specifier)))
    .filter((target) => target.startsWith('src/') && !target.startsWith('src/cli/'))
  assert.deepEqual([...new Set(taken)].sort(), [
    'src/base/index.ts',
    'src/client/index.ts',
    'src/contract/index.ts',
    'src/zip/index.ts',
  ])
})

test('the edge process takes its own module, the channel, http, passwords and the watchdog, which take nothing', () => {
  const takenBy = (module: string, outOf: (path: string) => boolean) =>
    service
      .filter(({ path }) => path.startsWith(`src/${module}/`) && !path.endsWith('.test.ts') && outOf(path))
      .flatMap(({ path, text }) => importsOf(text).map((specifier) => join(path, '..', specifier)))
      .filter((target) => target.startsWith('src/') && !target.startsWith(`src/${module}/`))
  // What the control process does for the edge: the edge process does not load it.
  const forEdges = [
    ...['edge-tls', 'edges', 'member', 'purging', 'routed', 'standing', 'without-edges'].map(
      (name) => `process/${name}.ts`,
    ),
    'static/make-manifest.ts',
  ]
  const isOfEdgeProcess = (path: string) => !forEdges.some((file) => path === `src/edge/${file}`)
  const lower = ['channel', 'http', 'passwords', 'watchdog']
  assert.deepEqual(
    [...new Set(takenBy('edge', isOfEdgeProcess))].toSorted(),
    lower.map((module) => `src/${module}/index.ts`),
  )
  for (const module of lower)
    assert.deepEqual(
      takenBy(module, () => true),
      [],
    )
})

test('every file and folder that the paths in ARCHITECTURE.md name is there', async () => {
  const named = [...(await readText('ARCHITECTURE.md')).matchAll(/^ {1,4}(?:\d {2})?([a-z-]+(?:\/[a-z-]+)+) {2,}/gm)]
  assert.ok(named.length > 30)
  const isThere = (path: string) => service.some((one) => one.path === `${path}.ts` || one.path.startsWith(`${path}/`))
  assert.deepEqual(
    named.map(([, path]) => `src/${path}`).filter((path) => !isThere(path)),
    [],
  )
})

test('every adapter of the list is there', () => {
  for (const adapter of ADAPTERS)
    assert.ok(
      service.some(({ path }) => path === adapter),
      `${adapter} is not there`,
    )
})

const TABLE = `
| layer | modules | they know about |
|---|---|---|
| 6 | \`main.ts\`, \`config.ts\`, \`data-folder.ts\` | everything |
| 2 | \`apps/\`, \`edge/\` | a trade each |
| 1 | \`storage/\` | the outside world |
| 0 | \`base/\` | nothing |

| 5 | \`stairs/\` | not a part of the table |
`
const small = readLayers(TABLE)

test('the table of layers is read row by row, up to its end', () => {
  assert.deepEqual(
    [...small],
    [
      ['main.ts', 6],
      ['config.ts', 6],
      ['data-folder.ts', 6],
      ['apps/', 2],
      ['edge/', 2],
      ['storage/', 1],
      ['base/', 0],
    ],
  )
  assert.throws(() => readLayers('no table'), /no table/)
  assert.throws(() => readLayers(TABLE.replace('`edge/`', '`base/`')), /base\/ stands in the table twice/)
})

test('a missing module and a module too many are both named', () => {
  const modules = [
    'src/main.ts',
    'src/config.ts',
    'src/data-folder.ts',
    'src/apps/index.ts',
    'src/storage/sql/sql.ts',
    'src/cellar/index.ts',
  ]
  assert.deepEqual(strayModules(modules.map(empty), small), [
    'src/cellar/ is not in the table of layers',
    'the table has edge/, src/ has not',
    'the table has base/, src/ has not',
  ])
})

const empty = (path: string): Source => ({ path, text: '' })

const WELL_BUILT: Source[] = [
  {
    path: 'src/data-folder.ts',
    text: `import { a } from './apps/index.ts'\nimport { openSqlite } from './storage/sql/sqlite.ts'`,
  },
  { path: 'src/main.ts', text: `import type { Config } from './config.ts'\nimport('./edge/index.ts')` },
  { path: 'src/apps/apps.ts', text: `import { names } from './names/deep.ts'\nexport * from '../base/index.ts'` },
  { path: 'src/apps/apps.ts', text: `import fs from 'node:fs'\nimport { fastify } from 'fastify'` },
  { path: 'src/apps/names/deep.ts', text: `import { a } from '../apps.ts'` },
  { path: 'src/apps/apps.test.ts', text: `import { openSqlite } from '../storage/sql/sqlite.ts'` },
  { path: 'src/apps/apps.ts', text: `// import '../edge/index.ts'\n/* from '../edge/index.ts' */` },
  {
    path: 'src/apps/apps.ts',
    text: "const text = \"import '../edge/index.ts'\"; const more = `from '../edge/index.ts'`",
  },
  { path: 'src/apps/apps.ts', text: `const quote = /['"\`]/\nconst half = 4 / 2\nexport { quote, half }` },
]

for (const [number, source] of WELL_BUILT.entries()) {
  test(`the rules let good source ${number + 1} through`, () => assert.deepEqual(crossings([source], small), []))
}

type Broken = { rule: string; path: string; text: string; violation: RegExp }

const BROKEN: Broken[] = [
  {
    rule: 'an import upward',
    path: 'src/storage/sql.ts',
    text: `import { apps } from '../apps/index.ts'`,
    violation: /^src\/storage\/sql\.ts imports '\.\.\/apps\/index\.ts': upward, from storage\/ on layer 1 to apps\/ on/,
  },
  {
    rule: 'an import of the top layer',
    path: 'src/apps/apps.ts',
    text: `import { type Config } from '../config.ts'`,
    violation: /upward, from apps\/ on layer 2 to config\.ts on layer 6/,
  },
  {
    rule: 'an import sideways',
    path: 'src/apps/apps.ts',
    text: `import { edge } from '../edge/index.ts'`,
    violation:
      /^src\/apps\/apps\.ts imports '\.\.\/edge\/index\.ts': sideways, from apps\/ to edge\/, both on layer 2$/,
  },
  {
    rule: 'a type import sideways',
    path: 'src/apps/apps.ts',
    text: `import type {\n  Edge,\n  Target,\n} from '../edge/index.ts'`,
    violation: /sideways/,
  },
  {
    rule: 'a re-export sideways',
    path: 'src/apps/index.ts',
    text: `export { edge } from "../edge/index.ts"`,
    violation: /sideways/,
  },
  {
    rule: 'an import for its effects alone',
    path: 'src/apps/index.ts',
    text: `import '../edge/index.ts'`,
    violation: /sideways/,
  },
  {
    rule: 'an import at run time',
    path: 'src/apps/apps.ts',
    text: `const { edge } = await import(\n  // late\n  '../edge/index.ts'\n)`,
    violation: /sideways/,
  },
  {
    rule: 'an import inside a template',
    path: 'src/apps/apps.ts',
    text: `const text = \`\${\`{\${1}\`} \${await import('../edge/index.ts')}\``,
    violation: /sideways/,
  },
  {
    rule: 'an import inside a type',
    path: 'src/apps/apps.ts',
    text: `export type Edge = import('../edge/index.ts').Edge`,
    violation: /sideways/,
  },
  {
    rule: 'a file that another module starts by its URL',
    path: 'src/apps/apps.ts',
    text: `fork(new URL('../edge/process.ts', import.meta.url))`,
    violation: /sideways/,
  },
  {
    rule: 'an import that a comment or a regular expression stands before',
    path: 'src/apps/apps.ts',
    text: `const quote = text.replace(/['/*]/, '') // it's\nimport { edge } from '../edge/index.ts'`,
    violation: /sideways/,
  },
  {
    rule: 'an import past index.ts',
    path: 'src/apps/apps.ts',
    text: `import { statement } from '../storage/sql.ts'`,
    violation: /^src\/apps\/apps\.ts imports '\.\.\/storage\/sql\.ts': past the index\.ts of storage\/$/,
  },
  {
    rule: 'an import past index.ts by main.ts',
    path: 'src/main.ts',
    text: `import { statement } from './storage/sql.ts'`,
    violation: /past the index\.ts of storage\//,
  },
  {
    rule: "an import of a deeper folder's index.ts",
    path: 'src/apps/apps.ts',
    text: `import { MIGRATIONS } from '../storage/migrations/index.ts'`,
    violation: /past the index\.ts of storage\//,
  },
  {
    rule: 'an adapter imported from above',
    path: 'src/apps/apps.ts',
    text: `import { openSqlite } from '../storage/sql/sqlite.ts'`,
    violation:
      /^src\/apps\/apps\.ts imports '\.\.\/storage\/sql\/sqlite\.ts': that is an adapter, and only src\/data-folder\.ts, /,
  },
  {
    rule: 'an adapter handed out by its own module',
    path: 'src/storage/index.ts',
    text: `export * from './blobs/blobs-disk.ts'`,
    violation: /that is an adapter/,
  },
  {
    rule: 'an import out of src/',
    path: 'src/apps/apps.ts',
    text: `import { startService } from '../../test/support/service.ts'`,
    violation: /outside of src\//,
  },
  {
    rule: 'an import of a computed name',
    path: 'src/apps/apps.ts',
    text: 'const module = "../edge"\nawait import(module)',
    violation: /^src\/apps\/apps\.ts imports a computed name/,
  },
]

for (const { rule, path, text, violation } of BROKEN) {
  test(`the rules complain about ${rule}`, () => {
    const violations = crossings([{ path, text }], small)
    assert.equal(violations.length, 1, violations.join('\n'))
    assert.match(violations[0] ?? '', violation)
  })
}

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

/** Every upload is planned or refused, and quickly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, planOf, problemOf } from '../../../test/support/plan.ts'
import { FRAMEWORKS } from './frameworks/index.ts'
import type { Source } from './project/project.ts'
import { readProject } from './project/read-project.ts'

/** CPU time: far more than any case here takes, and far less than a step that is not linear would take. */
const MAX_CPU_MS = 4_000

async function quickly(claim: string, work: () => Promise<unknown>) {
  const before = process.cpuUsage()
  await work().catch((error: { reason?: string }) => assert.equal(error.reason, 'PLAN_FAILED', String(error)))
  const { user, system } = process.cpuUsage(before)
  const ms = Math.round((user + system) / 1000)
  assert.ok(ms < MAX_CPU_MS, `${claim} took ${ms} ms of the processor`)
}

const MALFORMED: [text: string, complaint: RegExp][] = [
  ['{ "scripts": {} ', /^package\.json is not well-formed JSON: /],
  ['', /^package\.json is not well-formed JSON: /],
  ['[]', /must be a JSON object, but it is an array/],
  ['null', /must be a JSON object, but it is null/],
  ['"text"', /must be a JSON object, but it is a string/],
]

for (const [text, complaint] of MALFORMED) {
  test(`a package.json that holds ${JSON.stringify(text)} is refused`, async () => {
    assert.match(await problemOf({ 'package.json': text, 'index.html': '' }), complaint)
  })
}

test('a package.json with a byte order mark is read', async () => {
  assert.equal((await planOf({ 'package.json': '\uFEFF{"scripts":{"start":"node a.js"}}' })).framework, 'node')
})

test('a package.json that is too large to be read is refused', async () => {
  const nothing = async () => undefined
  const source: Source = { files: ['package.json'], read: nothing, head: nothing }
  await assert.rejects(readProject(source, ''), /package\.json could not be read: it is too large/)
})

const WRONG = [null, 1, true, 'build', [], ['build'], [[]], {}, { build: 1, start: null }, { build: '', start: '  ' }]

test('members of package.json of the wrong type are ignored', async () => {
  for (const value of WRONG) {
    const names = ['scripts', 'dependencies', 'main', 'engines', 'devEngines', 'overrides', 'pnpm', 'dependenciesMeta']
    const manifest = Object.fromEntries(names.map((name) => [name, value]))
    assert.equal((await planOf({ 'package.json': manifest, 'index.html': '' })).framework, 'static', String(value))
  }
})

test('workspaces and packageManager of the wrong type are ignored', async () => {
  for (const value of [...WRONG, { packages: 1 }, [1, null, { a: 1 }]]) {
    const manifest = { scripts: { start: 'node a.js' }, dependencies: { a: '1' } }
    const odd = { ...manifest, workspaces: value, packageManager: value, engines: { node: value }, bin: value }
    const plan = await planOf({ 'package.json': odd, 'apps/a/package.json': manifest })
    assert.deepEqual([plan.packageManager?.name, plan.node], ['npm', '24'], JSON.stringify(value))
  }
})

test('names of every object are not mistaken for scripts', async () => {
  for (const word of ['constructor', 'valueOf', 'toString', '__proto__', 'hasOwnProperty'])
    for (const dependency of DEPENDENCIES)
      await quickly(word, () =>
        planOf(appWith([dependency], { build: `${word} npm run ${word}`, start: `npm run ${word}` })),
      )
})

test('names of every object are not mistaken for packages', async () => {
  const odd = '{"scripts":{"__proto__":"x","constructor":"y"},"dependencies":{"__proto__":{"next":"1"}}}'
  assert.equal((await planOf({ 'package.json': odd, 'index.html': '' })).framework, 'static')
})

const UNITS = [
  '/*',
  "'",
  '`',
  '{a:',
  '{"a":[',
  '\\',
  'output:',
  '/* *',
  'import a from ',
  'adapter: a(',
  'const a = require(',
  '.setOutputDirectory(',
  'nodeLinker: ',
  '__metadata:\n  version: ',
  '- ',
  'packages: [',
]

const filledWith = (unit: string, names: readonly string[], length: number): App =>
  Object.fromEntries(names.map((name) => [name, unit.repeat(Math.floor(length / unit.length))]))

test('configurations that are made to be slow are read quickly', async () => {
  const names = FRAMEWORKS.flatMap(({ reads }) => reads)
  for (const unit of UNITS) {
    const files = filledWith(unit, names, 120_000)
    for (const dependency of DEPENDENCIES)
      await quickly(`${dependency} with ${unit}`, () => planOf(appWith([dependency], {}, files)))
  }
})

test('settings of package managers that are made to be slow are read quickly', async () => {
  const names = ['.yarnrc.yml', '.npmrc', 'pnpm-workspace.yaml', 'bunfig.toml', '.nvmrc', '.node-version']
  for (const unit of UNITS)
    for (const lockfile of ['yarn.lock', 'pnpm-lock.yaml'])
      await quickly(`${lockfile} with ${unit}`, () =>
        planOf(appWith(['vite'], {}, filledWith(unit, [...names, lockfile], 1_000_000))),
      )
})

/** One for every way to read a configuration. */
const DEPENDENCIES = ['next', '@sveltejs/kit', 'astro', '@11ty/eleventy', '@angular/core']

const WORDS = ['eleventy ', 'vite build ', 'npm run a ', 'NODE_ENV=production ', 'node ', '&&', '"', 'NITRO_PRESET=']

test('scripts that are made to be slow are read quickly', async () => {
  for (const word of WORDS) {
    const text = word.repeat(Math.floor(500_000 / word.length))
    const scripts = { build: text, start: text, prepare: text, a: text, b: text }
    for (const dependency of DEPENDENCIES)
      await quickly(`${dependency} with ${word}`, () => planOf(appWith([dependency], scripts)))
  }
})

test('an archive with nothing but manifests is read quickly', async () => {
  const files = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`p/${index}/package.json`, {}]))
  const manifest = { workspaces: Array(1000).fill('p/*'), scripts: { start: 'node a.js' }, dependencies: { a: '1' } }
  const plan = await planOf({ ...files, 'package.json': manifest })
  assert.equal(plan.install?.inputs, null)
  assert.match(plan.detectedBy.join('; '), /too many workspaces/)
})

test('overrides without a bottom are left alone', async () => {
  const depth = 5_000
  const overrides = `${'{"a":'.repeat(depth)}"file:x"${'}'.repeat(depth)}`
  const text = `{"scripts":{"start":"node a.js"},"dependencies":{"a":"1"},"overrides":${overrides}}`
  assert.equal((await planOf({ 'package.json': text })).framework, 'node')
})

test('names from an archive are shortened in messages', async () => {
  const long = 'x'.repeat(100_000)
  const manifest = { scripts: { start: 'node a.js' }, dependencies: { [long]: 'file:x' }, engines: { node: long } }
  const plan = await planOf({ 'package.json': manifest, '.nvmrc': long })
  for (const sentence of plan.detectedBy) assert.ok(sentence.length < 500, sentence.slice(0, 100))
})

test('a plan stays small, whatever an app has, since it is kept with every build and shown in lists', async () => {
  const long = 'x'.repeat(900_000)
  const app = (manifest: object, files: App = {}): App => ({
    'package.json': {
      dependencies: { next: long, vitepress: long },
      scripts: { build: long, [long]: long },
      ...manifest,
    },
    'package-lock.json': '{}',
    'vite.config.js': `export default { base: '${long}', build: { outDir: '${long}' } }`,
    '.nvmrc': long,
    ...files,
  })
  const settings = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`${'f'.repeat(50)}${at}/.npmrc`, '']))
  const apps = [
    app({ main: long, packageManager: `npm@${long}`, engines: { node: long } }),
    app({ dependencies: { vite: long }, devEngines: { packageManager: { name: long, version: long } } }),
    app({ dependencies: { vitepress: '1' }, scripts: { [`docs${long}`]: 'vitepress build' } }),
    app({}, settings),
    app({ workspaces: [long], overrides: { [long]: `file:${long}` } }),
  ]
  for (const each of apps) {
    const plan = await planOf(each).catch((error: { reason?: string; message: string }) => {
      assert.equal(error.reason, 'PLAN_FAILED', String(error).slice(0, 200))
      return error.message
    })
    assert.ok(JSON.stringify(plan).length < 100_000, JSON.stringify(plan).slice(0, 300))
  }
})

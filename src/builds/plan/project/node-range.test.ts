import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, planOf } from '../../../../test/support/plan.ts'

const app = (node: unknown, files: App = {}): App => ({
  'package.json': { scripts: { start: 'node a.js' }, engines: node === undefined ? undefined : { node } },
  ...files,
})

const ENGINES: [written: string, range: string][] = [
  ['>=18', '24'],
  ['*', '24'],
  ['>=22.11', '24'],
  ['^18.18.0 || ^19.8.0 || >= 20.0.0', '24'],
  ['^20 || ^22', '22'],
  ['20 - 22', '22'],
  ['<24', '22'],
  ['22', '22'],
  ['v22', '22'],
  ['22.x', '22'],
  ['25.x || 22.x', '22'],
  ['20.x', '20'],
  ['>=25', '26'],
  ['26', '26'],
  ['22.11.0', '22.11.0'],
  ['^20.9.0', '>=20.9.0 <21'],
  ['~22.1', '>=22.1.0 <22.2.0'],
  ['>=18.17 <24.5', '>=24 <24.5.0'],
  ['>=24.5', '>=24.5.0 <25'],
  ['18.x', '18'],
  ['^16.14.0', '>=16.14.0 <17'],
  ['>=12 <17', '16'],
  ['<20', '18'],
  ['14 || 21', '14'],
  ['23', '23'],
  ['28', '>=28.0.0 <29.0.0-0'],
  ['>=27', '>=27.0.0'],
]

for (const [written, range] of ENGINES) {
  test(`engines.node ${written} is Node ${range}`, async () => {
    assert.equal((await planOf(app(written))).node, range)
  })
}

const FILES: [written: string, range: string][] = [
  ['v22', '22'],
  ['22\n', '22'],
  ['20.11.1', '20.11.1'],
  ['# comment\n\n  lts/jod  # more\n', '22'],
  ['lts/Iron', '20'],
  ['lts/krypton', '24'],
  ['lts/*', '24'],
  ['18', '18'],
  ['16.20.2', '16.20.2'],
  ['lts/hydrogen', '18'],
  ['lts/gallium', '16'],
  ['node', '24'],
  ['', '24'],
]

for (const name of ['.nvmrc', '.node-version'])
  for (const [written, range] of FILES) {
    test(`${name} with ${JSON.stringify(written)} is Node ${range}`, async () => {
      assert.equal((await planOf(app(undefined, { [name]: written }))).node, range)
    })
  }

test('without a setting the default is used, and no sentence is added', async () => {
  const plan = await planOf(app(undefined))
  assert.deepEqual([plan.node, plan.detectedBy], ['24', ['the script start of package.json runs node']])
})

test('engines.node and a version file are both met where that can be', async () => {
  const plan = await planOf(app('>=20', { '.nvmrc': 'v22.3.0' }))
  assert.equal(plan.node, '22.3.0')
  assert.equal(
    plan.detectedBy.at(-1),
    'engines.node of package.json says >=20 and .nvmrc says v22.3.0, so Node 22.3.0 is used',
  )
})

test('engines.node wins over a version file that it does not allow', async () => {
  const plan = await planOf(app('^20', { '.nvmrc': '22' }))
  assert.equal(plan.node, '20')
  assert.ok(plan.detectedBy.includes('.nvmrc says 22, which engines.node of package.json does not allow'))
})

test('engines.node takes precedence over a version file with an unknown version', async () => {
  const plan = await planOf(app('>=18', { '.nvmrc': '99' }))
  assert.equal(plan.node, '24')
  assert.ok(plan.detectedBy.includes('.nvmrc says 99, which is not known here'))
})

test('what must be changed for another Node is named, and nothing else', async () => {
  const setBy = async (node: string | undefined, file?: string) =>
    (await planOf(app(node, file === undefined ? {} : { '.nvmrc': file }))).nodeSetBy
  assert.equal(await setBy(undefined), undefined)
  assert.equal(await setBy('18'), 'engines.node of package.json')
  assert.equal(await setBy(undefined, '18'), '.nvmrc')
  assert.equal(await setBy('>=18', '18'), '.nvmrc')
  assert.equal(await setBy('18.x', '18'), 'engines.node of package.json and .nvmrc')
  assert.equal(await setBy('^18', '22'), 'engines.node of package.json')
})

test('.nvmrc comes before .node-version', async () => {
  assert.equal((await planOf(app(undefined, { '.nvmrc': '20', '.node-version': '22' }))).node, '20')
})

test('an invalid version is ignored, with a sentence about it', async () => {
  for (const written of ['latest-and-greatest', '>=twenty', 'x'.repeat(500)]) {
    const plan = await planOf(app(written, { '.nvmrc': '20' }))
    assert.equal(plan.node, '20')
    assert.match(plan.detectedBy.join('; '), /which is no version of Node/)
  }
})

test('files that need no Node do not care which one they name', async () => {
  assert.equal((await planOf({ 'index.html': '', '.nvmrc': '8' })).node, '24')
})

test('the word of the app comes before that of the folder above', async () => {
  const files = {
    'package.json': { workspaces: ['web'], engines: { node: '22' } },
    '.nvmrc': '20',
    'web/package.json': { scripts: { start: 'node a.js' } },
  }
  assert.equal((await planOf({ ...files, 'web/.nvmrc': '22.9.0' }, 'web')).node, '22.9.0')
  const plan = await planOf(files, 'web')
  assert.equal(plan.node, '22')
  assert.ok(plan.detectedBy.includes('.nvmrc above the app says 20, which engines.node of package.json does not allow'))
})

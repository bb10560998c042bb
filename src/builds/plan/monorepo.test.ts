import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, planOf, problemOf } from '../../../test/support/plan.ts'

const WEB = { scripts: { build: 'vite build' }, dependencies: { vite: '8' } }
const NPM = { 'package-lock.json': '{}' }
const PNPM = { 'pnpm-lock.yaml': `lockfileVersion: '9.0'\n` }

const npmRepo = (files: App = {}, workspaces: unknown = ['apps/*', 'packages/*']): App => ({
  'package.json': { workspaces },
  ...NPM,
  'apps/web/package.json': WEB,
  'packages/ui/package.json': { dependencies: { a: '1' } },
  'examples/x/package.json': { scripts: { postinstall: 'x' } },
  ...files,
})

const pnpmRepo = (yaml: string, files: App = {}): App => ({
  'package.json': {},
  'pnpm-workspace.yaml': yaml,
  ...PNPM,
  'apps/web/package.json': WEB,
  ...files,
})

test('a workspace is installed where its workspaces are', async () => {
  const plan = await planOf(npmRepo(), 'apps/web')
  assert.equal(plan.rootDirectory, 'apps/web')
  assert.deepEqual(plan.install?.argv, ['npm', 'ci'])
  assert.equal(plan.install.folder, '')
  assert.equal(plan.packageManager?.lockfile, 'package-lock.json')
  assert.ok(plan.detectedBy.includes('apps/web is a workspace of the top, so packages are installed there'))
})

test('the manifests of all workspaces decide what is installed, and no script of a folder that is none', async () => {
  const plan = await planOf(npmRepo(), 'apps/web')
  assert.deepEqual(plan.install?.inputs, [
    'apps/web/package.json',
    'examples/x/package.json',
    'package-lock.json',
    'package.json',
    'packages/ui/package.json',
  ])
})

test('the script of another workspace runs with every install, too', async () => {
  const files = { 'packages/ui/package.json': { scripts: { prepare: 'tsc' } } }
  const plan = await planOf(npmRepo(files), 'apps/web')
  assert.equal(plan.install?.inputs, null)
  assert.match(plan.detectedBy.join('; '), /the script prepare of packages\/ui\/package\.json runs with every install/)
})

test('a workspace with commands is linked where they are, so it must be there', async () => {
  const files = { 'packages/ui/package.json': { bin: './cli.js', dependencies: { a: '1' } } }
  const plan = await planOf(npmRepo(files), 'apps/web')
  assert.equal(plan.install?.inputs, null)
  assert.match(plan.detectedBy.join('; '), /packages\/ui brings commands/)
})

const WORKSPACES: [claim: string, app: App][] = [
  ['a list in package.json', npmRepo({}, ['apps/web'])],
  ['an object in package.json', npmRepo({}, { packages: ['apps/*'], nohoist: [] })],
  ['a glob with braces', npmRepo({}, ['./{apps,packages}/*/'])],
  ['a list of pnpm', pnpmRepo(`packages:\n  - 'packages/*'\n  # apps\n  - "apps/*" # all\nonlyBuilt: []\n`)],
  ['a list of pnpm in one line', pnpmRepo(`packages: ['apps/**', "x"]\n`)],
  ['everything but something else', pnpmRepo(`packages:\n- '**'\n- '!**/test/**'\n`)],
]

for (const [claim, app] of WORKSPACES) {
  test(`workspaces are found in ${claim}`, async () => {
    assert.equal((await planOf(app, 'apps/web')).install?.folder, '')
  })
}

const SEPARATE_FOLDERS: [claim: string, app: App, install: string[]][] = [
  ['that no glob names', npmRepo({}, ['packages/*']), ['npm', 'install']],
  ['that a glob leaves out', npmRepo({}, ['apps/*', '!apps/web']), ['npm', 'install']],
  ['beside a lockfile alone', { 'package.json': {}, ...NPM, 'apps/web/package.json': WEB }, ['npm', 'install']],
  [
    'with the only lockfile',
    { 'package.json': { workspaces: ['apps/*'] }, 'apps/web/package.json': WEB, 'apps/web/package-lock.json': '{}' },
    ['npm', 'ci'],
  ],
  [
    'that is none of pnpm',
    pnpmRepo(`packages:\n  - 'packages/*'\n`, { 'apps/web/pnpm-lock.yaml': `lockfileVersion: '9.0'\n` }),
    ['pnpm', 'install', '--frozen-lockfile', '--ignore-workspace'],
  ],
]

for (const [claim, app, install] of SEPARATE_FOLDERS) {
  test(`a folder ${claim} is installed by itself`, async () => {
    const plan = await planOf(app, 'apps/web')
    assert.equal(plan.install?.folder, 'apps/web')
    assert.deepEqual(plan.install.argv, install)
    for (const input of plan.install.inputs ?? []) assert.match(input, /^apps\/web\//)
  })
}

test('a lockfile in the folder of the app has its place in the plan', async () => {
  const plan = await planOf({ 'web/package.json': WEB, 'web/package-lock.json': '{}' }, 'web')
  assert.equal(plan.packageManager?.lockfile, 'web/package-lock.json')
  assert.deepEqual(plan.install?.inputs, ['web/package-lock.json', 'web/package.json'])
})

test('the nearest of two sets of workspaces counts', async () => {
  const app = {
    'package.json': { workspaces: ['sites/apps/*'] },
    ...NPM,
    'sites/package.json': { workspaces: ['apps/*'] },
    'sites/yarn.lock': '# yarn lockfile v1',
    'sites/apps/web/package.json': WEB,
  }
  const plan = await planOf(app, 'sites/apps/web')
  assert.deepEqual([plan.install?.folder, plan.packageManager?.name], ['sites', 'yarn'])
})

test('a folder without packages of its own takes those above it', async () => {
  const app = {
    'package.json': { dependencies: { vite: '8' } },
    ...NPM,
    'web/package.json': { scripts: { build: 'vite build' } },
  }
  const plan = await planOf(app, 'web')
  assert.deepEqual([plan.install?.folder, plan.install?.argv], ['', ['npm', 'ci']])
})

test('packageManager and engines of the top hold for its workspaces', async () => {
  const top = { workspaces: ['apps/*'], packageManager: 'yarn@4.5.0', engines: { node: '^22' } }
  const plan = await planOf(npmRepo({ 'package.json': top }), 'apps/web')
  assert.deepEqual([plan.packageManager?.version, plan.node], ['4.5.0', '22'])
})

test('the top of a monorepo is installed there', async () => {
  const plan = await planOf(npmRepo({ 'package.json': { ...WEB, workspaces: ['packages/*'] } }))
  assert.equal(plan.install?.folder, '')
  assert.ok(plan.install?.inputs?.includes('packages/ui/package.json'))
})

test('at the top of a monorepo the message names the workspaces that may be the app', async () => {
  const wanted = /Its workspaces are apps\/web: set rootDirectory to the one that is the app/
  assert.match(await problemOf(npmRepo()), wanted)
  for (const build of ['turbo run build', 'nx run-many -t build', 'npm run build --workspaces', 'lerna run build'])
    assert.match(await problemOf(npmRepo({ 'package.json': { workspaces: ['apps/*'], scripts: { build } } })), wanted)
})

test('a build of all workspaces with something after it is taken at its word', async () => {
  const top = { workspaces: ['apps/*'], scripts: { build: 'turbo build && cp -r apps/web/dist dist' } }
  assert.equal((await planOf(npmRepo({ 'package.json': top }))).framework, 'unknown')
})

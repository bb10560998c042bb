import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, planOf } from '../../../test/support/plan.ts'

const NPM = { 'package-lock.json': '{}' }
const PNPM = { 'pnpm-lock.yaml': `lockfileVersion: '9.0'\n` }
const BERRY = { 'yarn.lock': '__metadata:\n  version: 8\n  cacheKey: 10c0\n' }

const app = (files: App, manifest: App = {}): App => ({
  'package.json': { dependencies: { a: '1' }, scripts: { build: 'make' }, ...manifest },
  'src/index.js': '',
  ...files,
})

const inputsOf = async (files: App, manifest: App = {}) => {
  const { install, detectedBy } = await planOf(app(files, manifest))
  return { inputs: install?.inputs, because: detectedBy.join('; ') }
}

const LISTS: [claim: string, files: App, inputs: string[]][] = [
  ['the manifest and the lockfile', { ...NPM, 'README.md': '' }, ['package-lock.json', 'package.json']],
  ['settings of npm', { ...NPM, '.npmrc': 'audit=false' }, ['.npmrc', 'package-lock.json', 'package.json']],
  [
    'no settings of another manager',
    { ...NPM, '.yarnrc.yml': '', 'bunfig.toml': '' },
    ['package-lock.json', 'package.json'],
  ],
  [
    'patches, wherever they lie',
    { ...PNPM, 'patches/a@1.patch': '', 'tools/b.patch': '', 'patches/readme.txt': '' },
    ['package.json', 'patches/a@1.patch', 'patches/readme.txt', 'pnpm-lock.yaml', 'tools/b.patch'],
  ],
  [
    'settings of pnpm',
    { ...PNPM, 'pnpm-workspace.yaml': 'onlyBuiltDependencies:\n  - sharp\n' },
    ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml'],
  ],
  [
    'what Yarn was uploaded with',
    {
      ...BERRY,
      '.yarnrc.yml': 'yarnPath: .yarn/releases/yarn-4.5.0.cjs\n',
      '.yarn/releases/yarn-4.5.0.cjs': '',
      '.yarn/plugins/x.cjs': '',
      '.yarn/cache/a.zip': '',
      '.yarn/install-state.gz': '',
    },
    [
      '.yarn/cache/a.zip',
      '.yarn/plugins/x.cjs',
      '.yarn/releases/yarn-4.5.0.cjs',
      '.yarnrc.yml',
      'package.json',
      'yarn.lock',
    ],
  ],
  [
    'files that a setting names',
    { ...BERRY, '.yarnrc.yml': 'yarnPath: "./tools/yarn.cjs"\n', 'tools/yarn.cjs': '', 'tools/other.cjs': '' },
    ['.yarnrc.yml', 'package.json', 'tools/yarn.cjs', 'yarn.lock'],
  ],
  [
    'settings of Bun',
    { 'bun.lock': '{}', 'bunfig.toml': '', '.npmrc': '' },
    ['.npmrc', 'bun.lock', 'bunfig.toml', 'package.json'],
  ],
]

for (const [claim, files, inputs] of LISTS) {
  test(`an install is decided by ${claim}`, async () => {
    assert.deepEqual((await inputsOf(files)).inputs, inputs)
  })
}

const IDLE = [
  'husky',
  'husky install',
  'husky install .config/husky',
  'husky || true',
  'is-ci || husky install',
  'husky install || true',
  'lefthook install',
  'simple-git-hooks',
  'npx husky install && npx simple-git-hooks',
]

for (const prepare of IDLE) {
  test(`an install does not depend on the source because of ${prepare}`, async () => {
    assert.notEqual((await inputsOf(NPM, { scripts: { build: 'make', prepare } })).inputs, null)
  })
}

test('an install does not depend on the source because of a guard', async () => {
  assert.notEqual((await inputsOf(PNPM, { scripts: { build: 'x', preinstall: 'npx only-allow pnpm' } })).inputs, null)
})

for (const name of ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']) {
  test(`an install depends on the source because of the script ${name}`, async () => {
    const { inputs, because } = await inputsOf(NPM, { scripts: { build: 'make', [name]: 'husky && node make.js' } })
    assert.equal(inputs, null)
    assert.match(
      because,
      new RegExp(`the script ${name} of package\\.json runs with every install, so packages are installed anew`),
    )
  })
}

const OBSTACLES: [claim: string, files: App, manifest: App, because: RegExp][] = [
  ['a package from a folder', NPM, { dependencies: { a: 'file:./a' } }, /package\.json takes a from a folder/],
  ['a package from a folder without a word for it', NPM, { dependencies: { a: '../a' } }, /takes a from a folder/],
  ['a link', PNPM, { devDependencies: { a: 'link:../a' } }, /takes a from a folder/],
  ['a portal', BERRY, { dependencies: { a: 'portal:./a' } }, /takes a from a folder/],
  ['an override from a folder', NPM, { overrides: { b: { a: 'file:./a' } } }, /takes a from a folder/],
  ['a resolution from a folder', BERRY, { resolutions: { 'b/a': 'portal:./a' } }, /takes b\/a from a folder/],
  ['an override of pnpm', PNPM, { pnpm: { overrides: { a: 'link:./a' } } }, /takes a from a folder/],
  ['a program of pnpm', { ...PNPM, '.pnpmfile.cjs': '' }, {}, /\.pnpmfile\.cjs runs with every install/],
  [
    'an override in settings of pnpm',
    { ...PNPM, 'pnpm-workspace.yaml': 'overrides:\n  a: "link:./a"\n' },
    {},
    /pnpm-workspace\.yaml makes the install depend on other files/,
  ],
]

for (const [claim, files, manifest, because] of OBSTACLES) {
  test(`an install depends on the source because of ${claim}`, async () => {
    const found = await inputsOf(files, manifest)
    assert.equal(found.inputs, null)
    assert.match(found.because, because)
  })
}

test('packages of workspaces, of the registry and of a repository are no packages of a folder', async () => {
  const dependencies = {
    a: 'workspace:*',
    b: 'npm:c@1',
    d: 'github:x/y',
    e: 'catalog:',
    f: 'patch:f@npm%3A1#~/x.patch',
  }
  assert.notEqual((await inputsOf(PNPM, { dependencies })).inputs, null)
})

/**
 * Random apps. Whatever files an archive has and whatever they contain, there is a plan or a problem that says why
 * not; it is the same each time and in any order of the files, and nothing in it leads out of the archive.
 */
import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, NASTY, nearly } from '../../../test/support/fuzz.ts'
import { type App, sourceOf } from '../../../test/support/plan.ts'
import { Problem } from '../../contract/index.ts'
import { FRAMEWORKS } from './frameworks/index.ts'
import type { Plan } from './plan.ts'
import { planBuild } from './plan-build.ts'
import { readProject } from './project/read-project.ts'
import { checkPlan } from './stored-plan.ts'

type Outcome = Plan | { problem: string; message: string }

async function planned(app: App, rootDirectory: string, order = Object.keys(app).sort()): Promise<Outcome> {
  try {
    return planBuild(await readProject({ ...sourceOf(app), files: order }, rootDirectory))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { problem: error.reason, message: error.message }
  }
}

const isPlan = (outcome: Outcome): outcome is Plan => 'framework' in outcome

const PACKAGES = [
  ...['next', 'nuxt', 'astro', '@sveltejs/kit', '@angular/core', '@angular/cli', '@angular/ssr', 'vite', 'gatsby'],
  ...['@remix-run/node', '@remix-run/serve', '@react-router/serve', '@react-router/dev', 'nitropack', 'vitepress'],
  ...['@docusaurus/core', '@11ty/eleventy', '@solidjs/start', 'express', '@astrojs/node', '@sveltejs/adapter-static'],
  ...['@sveltejs/adapter-node', 'typescript', 'react-scripts', '__proto__', 'constructor'],
]
const COMMANDS = [
  ...['next build', 'next start', 'nuxt build', 'astro build', 'vite build', 'node server.js', 'ng build', 'eleventy'],
  ...['npm run a', 'npm run build', 'vite', 'NODE_ENV=production node .', 'vite build --outDir ../x', 'exit 1'],
  ...[
    'eleventy --output=../../etc',
    'next export',
    'tsc && vite build',
    'nuxt generate',
    'rm -rf /',
    'node ../../a.js',
  ],
]
const range = fc.oneof(
  fc.constantFrom('latest', '^15.0.0', '*', '>=18', 'file:../x', 'link:.', '18 || 20', ''),
  nearly('0123456789.<>=|^~x -'),
)
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom<unknown>(null, [], {}, 0, '', ...NASTY))
const mostly = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: arbitrary as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: anything })

const script = fc.oneof(fc.constantFrom(...COMMANDS), nearly('abn =-/.&|;"\'$', 20))
const manifest = fc.record(
  {
    main: mostly(fc.constantFrom('server.js', './index.js', '../out.js', '/etc/passwd', 'index.html')),
    scripts: mostly(
      fc.dictionary(
        fc.constantFrom('build', 'start', 'dev', 'a', 'prebuild', 'prepare', 'headless:build', 'headless:start'),
        script,
      ),
    ),
    dependencies: mostly(fc.dictionary(fc.constantFrom(...PACKAGES), range, { maxKeys: 4 })),
    devDependencies: mostly(fc.dictionary(fc.constantFrom(...PACKAGES), range, { maxKeys: 4 })),
    workspaces: mostly(
      fc.array(
        fc.oneof(fc.constantFrom('apps/*', 'packages/**', '../*', '/*', '!apps/a', '{a,b}'), nearly('ab/*!{},')),
      ),
    ),
    packageManager: mostly(
      fc.constantFrom(
        'npm@10.0.0',
        'pnpm@9.1.0+sha512.abc',
        'yarn@4.0.0',
        'yarn@1.22.0',
        'bun@1.0.0',
        'cargo@1',
        'pnpm@^',
      ),
    ),
    engines: mostly(fc.record({ node: mostly(range) })),
    devEngines: mostly(fc.record({ packageManager: anything })),
    overrides: mostly(fc.dictionary(fc.constantFrom(...PACKAGES), range)),
    type: mostly(fc.constantFrom('module', 'commonjs')),
  },
  { requiredKeys: [] },
)

const CONFIGURATIONS = [...new Set(FRAMEWORKS.flatMap(({ reads }) => reads))]
const SETTINGS = [
  ...['package-lock.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb', '.npmrc', '.yarnrc.yml', '.yarnrc'],
  ...[
    'pnpm-workspace.yaml',
    'bunfig.toml',
    '.nvmrc',
    '.node-version',
    'angular.json',
    '.pnpmfile.cjs',
    'npm-shrinkwrap.json',
  ],
]
const PLAIN = [
  'index.html',
  'server.js',
  'public/index.html',
  'dist/index.html',
  'src/a.ts',
  'index.js',
  'out/index.html',
]
const text = fc.oneof(
  fc.constantFrom(
    "export default { output: 'export', distDir: '../../out' }",
    "import node from '@astrojs/node'\nexport default { output: 'server', adapter: node({ mode: 'standalone' }), outDir: '/tmp/x' }",
    "export default { build: { outDir: '..' }, base: '/docs/' }",
    "export default { nitro: { preset: 'static', output: { dir: '../x' } } }",
    'packages:\n  - apps/*\n  - "../*"\n',
    'lockfileVersion: 9.0\n',
    '__metadata:\n  version: 8\n',
    'nodeLinker: node-modules\nyarnPath: ../../yarn.cjs\n',
    '{"projects":{"a":{"architect":{"build":{"options":{"outputPath":"../../x"}}}}},"defaultProject":"a"}',
    '20',
    'lts/constructor',
    '',
  ),
  nearly('abc{}[]():,\'"`/*.\n =', 40),
)

const folder = fc.constantFrom('', '', '', 'apps/a/', 'apps/b/', 'packages/c/d/')
const file: fc.Arbitrary<[string, unknown]> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(
      folder.map((at) => `${at}package.json`),
      fc.oneof(
        { weight: 9, arbitrary: manifest as fc.Arbitrary<unknown> },
        { weight: 1, arbitrary: nearly('{}[]":,a1') },
      ),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.tuple(folder, fc.constantFrom(...CONFIGURATIONS)).map((both) => both.join('')),
      text,
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.tuple(folder, fc.constantFrom(...SETTINGS)).map((both) => both.join('')),
      text,
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.tuple(folder, fc.constantFrom(...PLAIN)).map((both) => both.join('')),
      fc.constant(''),
    ),
  },
)
const app: fc.Arbitrary<App> = fc
  .array(file, { minLength: 1, maxLength: 10 })
  .map((list) => Object.assign(Object.create(null), Object.fromEntries(list)))
const rootDirectory = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  {
    weight: 4,
    arbitrary: fc.constantFrom('apps/a', './apps/a/', 'apps//b', 'packages/c/d', 'apps', '.', 'nowhere', 'apps/a/../b'),
  },
  { weight: 1, arbitrary: fc.constantFrom('..', '../x', '/etc', 'a/../../b') },
)

test('any app gets a plan or a problem of planning, the same each time and in any order of its files', async () => {
  const frameworks = new Set<string>()
  await holds(
    fc.asyncProperty(app, rootDirectory, fc.infiniteStream(fc.nat()), async (given, root, numbers) => {
      const first = await planned(given, root)
      const shuffled = Object.keys(given)
        .map((name) => [numbers.next().value as number, name] as const)
        .sort(([one], [other]) => one - other)
        .map(([, name]) => name)
      assert.deepEqual(await planned(given, root), first)
      const other = await planned(given, root, shuffled)
      if (isPlan(first)) {
        frameworks.add(first.framework)
        // Of several reasons, the first that is found is reported.
        assert.deepEqual({ ...other, detectedBy: [] }, { ...first, detectedBy: [] }, 'in another order')
      } else assert.deepEqual([first.problem, 'problem' in other], ['PLAN_FAILED', true])
    }),
    500,
  )
  assert.ok(frameworks.size > 5, `only ${[...frameworks]} were planned`)
})

/** Every path of a plan, and the folder that it is relative to. */
function pathsIn({
  rootDirectory: root,
  install,
  packageManager,
  output,
  caches,
}: Plan): [from: string, path: string][] {
  const inRoot = [output.folder, ...caches.compile, ...caches.data]
  const inTop = [root, ...(install ? [install.folder, ...(install.inputs ?? [])] : []), packageManager?.lockfile ?? '']
  if (output.kind === 'static') inRoot.push(...output.candidates)
  else
    inRoot.push(
      ...output.copies.flatMap(({ from, to }) => [from, to]),
      ...output.writable.map((path) => posix.join(output.folder, path)),
    )
  return [...inRoot.map((path): [string, string] => [root, path]), ...inTop.map((path): [string, string] => ['', path])]
}

test('no path of a plan leads out of the archive, and every command is a list of words', async () => {
  await holds(
    fc.asyncProperty(app, rootDirectory, async (given, root) => {
      const plan = await planned(given, root)
      if (!isPlan(plan)) return
      for (const [from, path] of pathsIn(plan)) {
        const full = posix.join('/top', from, path)
        assert.ok(
          !path.startsWith('/') && (full === '/top' || full === '/top/' || full.startsWith('/top/')),
          `${from}: ${path}`,
        )
        assert.ok(!path.includes('\0') && !path.includes('\\'), path)
      }
      const commands = [plan.install, plan.build, plan.output.kind === 'server' ? plan.output.start : null]
      for (const command of commands) {
        if (command === null) continue
        assert.ok(
          command.argv.length > 0 && command.argv.every((word) => typeof word === 'string' && !word.includes('\0')),
        )
        assert.match(command.argv[0] as string, /^(?!(?:sh|bash|env)$)[a-z][a-z-]*$/, 'a program by its name')
      }
      assert.deepEqual(JSON.parse(JSON.stringify(plan)), plan, 'it is a JSON value')
      checkPlan(plan)
    }),
    500,
  )
})

test('a file that planning does not read changes no plan', async () => {
  const unrelated = fc.constantFrom(
    'README.md',
    'src/deep/er/file.ts',
    'docs/guide.md',
    'LICENSE',
    'test/a.test.js',
    'zz.bin',
  )
  await holds(
    fc.asyncProperty(app, unrelated, async (given, name) => {
      const [before, after] = [await planned(given, ''), await planned({ ...given, [name]: 'text' }, '')]
      if (isPlan(before)) assert.deepEqual(after, before)
      else assert.equal(isPlan(after), false)
    }),
    300,
  )
})

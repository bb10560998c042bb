import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, planOf, problemOf } from '../../../test/support/plan.ts'

const viteApp = (scripts: unknown, files: App = {}): App => ({
  'package.json': { scripts, devDependencies: { vite: '^8' } },
  'index.html': '',
  ...files,
})

type Case = { config?: string; build?: string; folder: string; basePath?: string; isLookedFor?: true }

const CASES: Case[] = [
  { folder: 'dist' },
  { config: `export default defineConfig({ build: { outDir: 'build' } })`, folder: 'build' },
  {
    config: `export default defineConfig(({ mode }) => ({ build: { sourcemap: true, outDir: "./a/b/" } }))`,
    folder: 'a/b',
  },
  { config: `export default { root: 'src', build: { outDir: '../dist' } }`, folder: 'dist' },
  { config: `export default { root: 'src' }`, folder: 'src/dist' },
  {
    config: `export default { plugins: [pwa({ outDir: 'x', base: '/x', root: 'x' })], test: { root: 'y' } }`,
    folder: 'dist',
  },
  { config: `export default { build: { /* outDir: 'x' */ } }`, folder: 'dist' },
  { config: `export default { base: '/app/' }`, folder: 'dist', basePath: '/app' },
  {
    config: `export default { base: process.env.NODE_ENV === 'production' ? '/app/' : '/' }`,
    folder: 'dist',
    basePath: '/app',
  },
  { config: `export default { base: './' }`, folder: 'dist' },
  { config: `export default { base: 'https://cdn.example/app/' }`, folder: 'dist' },
  { config: `export default { build: { outDir: resolve(here, 'x') } }`, folder: 'dist', isLookedFor: true },
  { build: 'tsc && vite build --outDir=build --base /app/', folder: 'build', basePath: '/app' },
  { build: 'tsc&&vite build --outDir "build";echo --base /x', folder: 'build' },
  { config: `export default { build: { outDir: 'a' } }`, build: 'vite build --outDir b', folder: 'b' },
]

for (const { config, build = 'vite build', folder, basePath = '', isLookedFor = false } of CASES) {
  test(`Vite: ${config ?? build} leaves one page in ${folder}`, async () => {
    const { output } = await planOf(viteApp({ build }, config === undefined ? {} : { 'vite.config.ts': config }))
    assert.ok(output.kind === 'static' && output.singlePage)
    assert.equal(output.folder, folder)
    assert.equal(output.basePath, basePath)
    assert.equal(output.candidates.length > 0, isLookedFor)
  })
}

test('Vite: flags are found in a script that the build script runs', async () => {
  const scripts = { build: 'run-p type-check "build-only {@}" --', 'build-only': 'vite build --outDir public' }
  assert.equal((await planOf(viteApp(scripts))).output.folder, 'public')
})

test('Vite: scripts that run each other are followed once', async () => {
  assert.equal(
    (await planOf(viteApp({ build: 'npm run a', a: 'npm run b', b: 'npm run a build' }))).output.folder,
    'dist',
  )
})

test('what is built on Vite and not known is not taken for Vite', async () => {
  const scripts = { build: 'vite build' }
  const plan = await planOf({
    'package.json': { scripts, devDependencies: { vite: '8', '@tanstack/react-start': '1' } },
  })
  assert.equal(plan.framework, 'unknown')
})

test('Vite: an output folder outside of the app is refused by name', async () => {
  const config = `export default { build: { outDir: '../../etc' } }`
  assert.match(
    await problemOf(viteApp({}, { 'vite.config.js': config })),
    /vite\.config\.js puts the output into .*etc, outside/,
  )
})

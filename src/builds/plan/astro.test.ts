import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, outputOf, PLUG_AND_PLAY, planOf, problemOf } from '../../../test/support/plan.ts'
import type { StaticOutput } from './plan.ts'

const astroApp = (config: string, scripts: unknown = {}, version = '^7.3.3'): App =>
  appWith({ astro: version, '@astrojs/node': '^11' }, scripts, { 'astro.config.mjs': config })

const node = (more: string): string => `import node from '@astrojs/node'\nexport default defineConfig({ ${more} })`
const STANDALONE = `adapter: node({ mode: 'standalone' })`

const CASES: [claim: string, app: App, output: string][] = [
  ['without a configuration leaves files', appWith(['astro'], {}), 'files in dist'],
  ['outDir moves the files', astroApp(`export default { outDir: './build/' }`), 'files in build'],
  ['a flag moves them too', astroApp('', { build: 'astro build --outDir public' }), 'files in public'],
  ['base is the path of the site', astroApp(`export default { base: '/docs' }`), 'files in dist under /docs'],
  ['the adapter for Node makes a server', astroApp(node(STANDALONE)), 'server in .: node dist/server/entry.mjs'],
  [
    'outDir moves the server',
    astroApp(node(`outDir: 'out', build: { serverEntry: 'main.mjs' }, ${STANDALONE}`)),
    'server in .: node out/server/main.mjs',
  ],
  [
    'preview is no server for visitors',
    astroApp(node(STANDALONE), { start: 'astro preview' }),
    'server in .: node dist/server/entry.mjs',
  ],
  [
    'the same start as a script is the same',
    astroApp(node(STANDALONE), { start: 'node ./dist/server/entry.mjs' }),
    'server in .: node dist/server/entry.mjs',
  ],
  [
    'a server of the app comes first',
    astroApp(node(STANDALONE), { start: 'node --import ./trace.mjs dist/server/entry.mjs' }),
    'server in .: node --import ./trace.mjs dist/server/entry.mjs',
  ],
  [
    'middleware is started by the app',
    astroApp(node(`adapter: node({ mode: 'middleware' })`), { start: 'node run-server.mjs' }),
    'server in .: node run-server.mjs',
  ],
  ['a named start serves files', astroApp('', { 'headland-start': 'node serve.js' }), 'server in .: node serve.js'],
  ['version 4 with an adapter alone leaves files', astroApp(node(STANDALONE), {}, '^4.16.0'), 'files in dist'],
  [
    'version 4 that says so is a server',
    astroApp(node(`output: 'hybrid', ${STANDALONE}`), {}, '^4.16.0'),
    'server in .: node dist/server/entry.mjs',
  ],
  [
    'of adapters under a condition the one for Node counts',
    astroApp(
      `import vercel from '@astrojs/vercel'\nimport node from '@astrojs/node'\nexport default { adapter: process.env.VERCEL ? vercel() : node({ mode: 'standalone' }) }`,
    ),
    'server in .: node dist/server/entry.mjs',
  ],
]

for (const [claim, app, output] of CASES) {
  test(`Astro: ${claim}`, async () => {
    const plan = await planOf(app)
    assert.deepEqual([plan.framework, outputOf(plan)], ['astro', output])
  })
}

test('Astro: middleware that nothing starts is refused with what to do', async () => {
  assert.match(await problemOf(astroApp(node(`adapter: node({ mode: 'middleware' })`))), /mode.*to 'standalone'/)
})

const foreign = (module: string, more = '') =>
  `import host from '${module}'\nexport default { adapter: host({ isr: true, mode: 'directory' }), ${more} }`
const DIST: StaticOutput = { kind: 'static', folder: 'dist', candidates: [], singlePage: false, basePath: '' }

for (const host of ['vercel', 'netlify', 'cloudflare', 'deno']) {
  const replaces = `@astrojs/${host}`
  const module = { package: replaces, kind: 'astro', peer: 'astro' }
  const instead = { replaces, by: '@astrojs/node', environment: {}, module }

  test(`Astro: ${replaces} is replaced by the adapter for Node, whatever its options`, async () => {
    const plan = await planOf(astroApp(foreign(replaces, `output: 'server'`), { start: 'astro preview' }))
    assert.equal(outputOf(plan), 'server in .: node dist/server/entry.mjs')
    assert.deepEqual(plan.adapter, { ...instead, files: null })
    assert.ok(plan.detectedBy.includes(`${replaces} builds for another host, so @astrojs/node takes its place`))
  })

  test(`Astro: with ${replaces} and no output named, files are served if the build leaves no server`, async () => {
    const plan = await planOf(astroApp(foreign(`${replaces}/serverless`)))
    assert.equal(outputOf(plan), 'server in .: node dist/server/entry.mjs')
    assert.deepEqual(plan.adapter, { ...instead, files: { server: 'dist/server/entry.mjs', output: DIST } })
  })

  test(`Astro: version 4 with ${replaces} leaves files where the app looks for them`, async () => {
    const plan = await planOf(astroApp(foreign(`${replaces}/static`, `output: 'static'`), {}, '^4.16.0'))
    assert.equal(outputOf(plan), 'files in dist')
    assert.deepEqual(plan.adapter, { ...instead, files: null })
  })
}

test('Astro: a server that the app starts itself keeps its adapter', async () => {
  const plan = await planOf(astroApp(foreign('@astrojs/vercel'), { start: 'node run-server.mjs' }))
  assert.deepEqual([outputOf(plan), plan.adapter], ['server in .: node run-server.mjs', undefined])
})

test("Astro: an adapter for another host is refused with the one to install under Plug'n'Play", async () => {
  const message = await problemOf({ ...astroApp(foreign('@astrojs/vercel')), ...PLUG_AND_PLAY })
  assert.match(message, /Astro builds with @astrojs\/vercel, which cannot run here\. Install @astrojs\/node/)
})

test('Astro: an unknown adapter is refused with the one to install', async () => {
  assert.match(await problemOf(astroApp(foreign('astro-aws'))), /Astro builds with astro-aws, which cannot run here/)
})

test('Astro: a server keeps its sessions, and what was fetched is no cache to keep', async () => {
  const plan = await planOf(astroApp(node(STANDALONE)))
  assert.ok(plan.output.kind === 'server')
  assert.deepEqual(plan.output.writable, ['node_modules/.astro/sessions'])
  assert.deepEqual(plan.caches, { compile: ['node_modules/.vite'], data: ['node_modules/.astro', '.astro'] })
  assert.deepEqual(plan.environment, { ASTRO_TELEMETRY_DISABLED: '1' })
})

test('Astro: a configuration says why', async () => {
  const plan = await planOf(astroApp(`export default { base: '/docs' }`))
  assert.deepEqual(plan.detectedBy.slice(0, 2), [
    'package.json depends on astro',
    `astro.config.mjs says base: '/docs'`,
  ])
  assert.deepEqual(plan.build, { argv: ['astro', 'build'] })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, outputOf, planOf, problemOf } from '../../test/support/plan.ts'

const nuxtApp = (config: string, scripts: unknown = {}, version = '^4.5.0'): App =>
  appWith({ nuxt: version }, scripts, { 'nuxt.config.ts': `export default defineNuxtConfig({ ${config} })` })

const vinxiApp = (config: string, scripts: unknown = {}): App =>
  appWith({ '@solidjs/start': '^1.3.0', vinxi: '^0.5.0' }, scripts, {
    'app.config.ts': `export default defineConfig({ ${config} })`,
  })

const viteSolidApp = (plugins: string, scripts: unknown = {}): App =>
  appWith({ '@solidjs/start': '^2.0.0', vite: '^8' }, scripts, {
    'vite.config.ts': `export default defineConfig({ plugins: [${plugins}] })`,
  })

const SERVER = 'server in .output: node server/index.mjs'

const CASES: [claim: string, framework: string, app: App, output: string][] = [
  ['leaves a server', 'nuxt', nuxtApp(''), SERVER],
  ['that renders nothing still leaves a server', 'nuxt', nuxtApp('ssr: false'), SERVER],
  ['generate leaves files', 'nuxt', nuxtApp('', { build: 'nuxt generate' }), 'files in .output/public'],
  [
    'build --prerender leaves files',
    'nuxt',
    nuxtApp('', { build: 'nuxt build --prerender' }),
    'files in .output/public',
  ],
  [
    'generate without rendering leaves one page',
    'nuxt',
    nuxtApp('ssr: false', { build: 'nuxi generate' }),
    'files in .output/public, one page',
  ],
  [
    'a base path is kept',
    'nuxt',
    nuxtApp(`app: { baseURL: '/docs/' }`, { build: 'nuxt generate' }),
    'files in .output/public under /docs',
  ],
  ['the preset static leaves files', 'nuxt', nuxtApp(`nitro: { preset: 'static' }`), 'files in .output/public'],
  ['presets of hosts for Node leave a server', 'nuxt', nuxtApp(`nitro: { preset: 'render_com' }`), SERVER],
  ['the output moves', 'nuxt', nuxtApp(`nitro: { output: { dir: 'dist' } }`), 'server in dist: node server/index.mjs'],
  [
    'the preset of a flag wins',
    'nuxt',
    nuxtApp(`nitro: { preset: 'vercel' }`, { build: 'nuxt build --preset node-server' }),
    SERVER,
  ],
  [
    'the preset of a variable wins',
    'nuxt',
    nuxtApp(`nitro: { preset: 'vercel' }`, { build: 'NITRO_PRESET=static nuxt build' }),
    'files in .output/public',
  ],
  ['preview is no server for visitors', 'nuxt', nuxtApp('', { start: 'nuxt preview' }), SERVER],
  ['the same start as a script is the same', 'nuxt', nuxtApp('', { start: 'node .output/server/index.mjs' }), SERVER],
  ['a server of the app comes first', 'nuxt', nuxtApp('', { start: 'node server.js' }), 'server in .: node server.js'],
  [
    'a listener is started by the app',
    'nuxt',
    nuxtApp(`nitro: { preset: 'node-listener' }`, { start: 'node server.js' }),
    'server in .: node server.js',
  ],
  [
    'a named start serves files',
    'nuxt',
    nuxtApp('', { build: 'nuxt generate', 'headland-start': 'node serve.js' }),
    'server in .: node serve.js',
  ],
  [
    'version 2 is started with its packages',
    'nuxt',
    nuxtApp('', { start: 'nuxt start' }, '^2.18.1'),
    'server in .: nuxt start',
  ],
  ['version 2 generates into dist', 'nuxt', nuxtApp('', { build: 'nuxt generate' }, '^2.18.1'), 'files in dist'],
  ['leaves a server', 'solid-start', vinxiApp('', { start: 'vinxi start' }), SERVER],
  ['vinxi dev is no server for visitors', 'solid-start', vinxiApp('', { start: 'vinxi dev' }), SERVER],
  [
    'the preset static leaves files',
    'solid-start',
    vinxiApp(`server: { preset: 'static', baseURL: '/docs' }`),
    'files in .output/public under /docs',
  ],
  [
    'without rendering they are one page',
    'solid-start',
    vinxiApp(`ssr: false, server: { preset: 'static' }`),
    'files in .output/public, one page',
  ],
  ['a server of the app comes first', 'solid-start', vinxiApp('', { start: 'node x.js' }), 'server in .: node x.js'],
  ['on Vite leaves a server', 'solid-start', viteSolidApp('solidStart(), nitro()', { start: 'vite preview' }), SERVER],
  [
    'on Vite has its preset among the plugins',
    'solid-start',
    viteSolidApp(`solidStart({ ssr: false }), nitro({ preset: 'static' })`),
    'files in .output/public, one page',
  ],
]

for (const [claim, framework, app, output] of CASES) {
  test(`${framework}: ${claim}`, async () => {
    const plan = await planOf(app)
    assert.deepEqual([plan.framework, outputOf(plan)], [framework, output])
  })
}

for (const app of [
  nuxtApp(`nitro: { preset: 'cloudflare_module' }`, { start: 'node .output/server/index.mjs' }),
  vinxiApp(`server: { preset: 'cloudflare-module' }`, { start: 'vinxi start' }),
  viteSolidApp(`nitro({ preset: 'cloudflare-module' })`),
])
  test('a preset for another host is refused with the one to set', async () => {
    assert.match(
      await problemOf(app),
      /builds for cloudflare-module, which cannot run here\. Set the preset to 'node-server'/,
    )
  })

test('Nuxt and SolidStart are built by their commands where no script does', async () => {
  assert.deepEqual((await planOf(nuxtApp(''))).build, { argv: ['nuxt', 'build'] })
  assert.deepEqual((await planOf(vinxiApp(''))).build, { argv: ['vinxi', 'build'] })
  assert.deepEqual((await planOf(viteSolidApp(''))).build, { argv: ['vite', 'build'] })
})

test('Nuxt 2 keeps no cache where its server lies', async () => {
  assert.ok((await planOf(nuxtApp(''))).caches.compile.includes('.nuxt'))
  assert.ok(!(await planOf(nuxtApp('', {}, '^2.18.1'))).caches.compile.includes('.nuxt'))
})

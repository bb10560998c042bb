import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, outputOf, PLUG_AND_PLAY, planOf, problemOf } from '../../../test/support/plan.ts'
import { adapterWarning } from './frameworks/foreign.ts'

const nuxtApp = (config: string, scripts: unknown = {}, version = '^4.5.0'): App =>
  appWith({ nuxt: version }, scripts, { 'nuxt.config.ts': `export default defineNuxtConfig({ ${config} })` })

const vinxiApp = (config: string, scripts: unknown = {}): App =>
  appWith({ '@solidjs/start': '^1.3.0', vinxi: '^0.5.0' }, scripts, {
    'app.config.ts': `export default defineConfig({ ${config} })`,
  })

const viteSolidApp = (plugins: string, scripts: unknown = {}, more: Record<string, string> = {}): App =>
  appWith({ '@solidjs/start': '^2.0.0', vite: '^8', ...more }, scripts, {
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

const presetOf = (by: string) => ({ environment: { NITRO_PRESET: by, SERVER_PRESET: by }, files: null })

for (const preset of ['vercel', 'vercel-edge', 'netlify', 'cloudflare_module', 'aws-lambda', 'deno-deploy'])
  for (const [name, app] of [
    ['Nuxt', nuxtApp(`nitro: { preset: '${preset}' }`, { start: 'node .output/server/index.mjs' })],
    ['SolidStart on Vinxi', vinxiApp(`server: { preset: '${preset}' }`, { start: 'vinxi start' })],
  ] as const)
    test(`${name}: the preset ${preset} is replaced by the one for Node`, async () => {
      const plan = await planOf(app)
      const replaces = preset.replaceAll('_', '-')
      assert.equal(outputOf(plan), SERVER)
      assert.deepEqual(plan.adapter, { replaces, by: 'node-server', module: null, ...presetOf('node-server') })
      assert.ok(
        plan.detectedBy.includes(`the preset ${replaces} builds for another host, so node-server takes its place`),
      )
    })

for (const plugin of ['nitro', '@solidjs/vite-plugin-nitro-2'])
  test(`SolidStart on Vite: a preset among the options of ${plugin} is replaced by the one for Node`, async () => {
    const app = viteSolidApp(`nitro({ preset: 'vercel' })`, {}, { [plugin]: '^3.0.0' })
    const { adapter } = await planOf(app)
    const module = { package: plugin, kind: 'nitro', peer: null }
    assert.deepEqual(adapter, { replaces: 'vercel', by: 'node-server', module, ...presetOf('node-server') })
    assert.match(await problemOf({ ...app, ...PLUG_AND_PLAY }), /builds for vercel, which cannot run here/)
  })

for (const app of [
  nuxtApp(`nitro: { preset: 'vercel_static' }`),
  nuxtApp(`nitro: { preset: 'netlify' }`, { build: 'nuxt generate' }),
  vinxiApp(`server: { preset: 'cloudflare-pages-static' }`),
])
  test('a preset of another host that leaves files is replaced by static', async () => {
    const plan = await planOf(app)
    assert.deepEqual([outputOf(plan), plan.adapter?.by], ['files in .output/public', 'static'])
  })

for (const [build, argv] of [
  ['nuxt build --preset=vercel', ['nuxt', 'build']],
  ['nuxt build --preset vercel --dotenv .env.prod', ['nuxt', 'build', '--dotenv', '.env.prod']],
  ['NITRO_PRESET=vercel nuxt build', ['nuxt', 'build']],
  ['cross-env NODE_ENV=production SERVER_PRESET=netlify nuxi build', ['nuxi', 'build']],
] as const)
  test(`the script "${build}" is run without its preset`, async () => {
    const plan = await planOf(nuxtApp('', { build }))
    assert.deepEqual([plan.build?.argv, plan.adapter?.by, outputOf(plan)], [argv, 'node-server', SERVER])
  })

for (const app of [
  nuxtApp('', { build: 'prisma generate && NITRO_PRESET=cloudflare-module nuxt build' }),
  nuxtApp('', { build: 'nuxt build --preset cloudflare-module', postbuild: 'node after.js' }),
  vinxiApp('', { build: 'vinxi build --preset cloudflare-module && node after.js' }),
])
  test('a preset in a script that does more is refused with the one to set', async () => {
    assert.match(
      await problemOf(app),
      /builds for cloudflare-module, which cannot run here\. Set the preset to 'node-server'/,
    )
  })

test("a preset of the app's own making is refused with the one to set", async () => {
  assert.match(await problemOf(nuxtApp(`nitro: { preset: './preset' }`)), /Set the preset to 'node-server'/)
})

test('a preset that is computed is settled by variables, unless the app starts a server of its own', async () => {
  const computed = `preset: process.env.PRESET ?? 'vercel'`
  const nuxt = await planOf(nuxtApp(`nitro: { ${computed} }`))
  assert.deepEqual([outputOf(nuxt), nuxt.environment.NITRO_PRESET], [SERVER, 'node-server'])
  const generated = await planOf(nuxtApp(`nitro: { ${computed} }`, { build: 'nuxt generate' }))
  assert.equal(generated.environment.NITRO_PRESET, 'static')
  const solid = await planOf(vinxiApp(`server: { ${computed} }`))
  assert.deepEqual([outputOf(solid), solid.environment.SERVER_PRESET], [SERVER, 'node-server'])
  const own = await planOf(nuxtApp(`nitro: { ${computed} }`, { start: 'node server.js' }))
  assert.equal(own.environment.NITRO_PRESET, undefined)
})

test('a build with a replaced adapter has a warning', async () => {
  const plan = await planOf(nuxtApp(`nitro: { preset: 'vercel' }`))
  assert.match(
    adapterWarning(plan) ?? '',
    /built with node-server, though it names vercel.*Name node-server in the app/,
  )
  assert.equal(adapterWarning(await planOf(nuxtApp(''))), undefined)
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

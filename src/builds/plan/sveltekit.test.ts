import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, outputOf, PLUG_AND_PLAY, planOf, problemOf } from '../../../test/support/plan.ts'

const kitApp = (files: App, scripts: unknown = {}): App => appWith(['@sveltejs/kit', 'vite'], scripts, files)

/** As version 2 has it, and as version 3 has it. */
const old = (adapter: string, options = '', kit = ''): App => ({
  'svelte.config.js': `import adapter from '${adapter}'\nconst config = { kit: { adapter: adapter(${options}), ${kit} } }\nexport default config`,
  'vite.config.js': `export default { plugins: [sveltekit()] }`,
})
const recent = (adapter: string, options = '', kit = ''): App => ({
  'vite.config.ts': `import adapter from '${adapter}'\nexport default defineConfig({ plugins: [tailwind(), sveltekit({ adapter: adapter(${options}), ${kit} })] })`,
})
const NODE = '@sveltejs/adapter-node'
const STATIC = '@sveltejs/adapter-static'

for (const [version, config] of Object.entries({ 2: old, 3: recent })) {
  const CASES: [claim: string, app: App, output: string][] = [
    ['the adapter for Node makes a server', kitApp(config(NODE)), 'server in .: node build'],
    ['out moves the server', kitApp(config(NODE, `{ out: 'dist' }`)), 'server in .: node dist'],
    [
      'vite preview is no server for visitors',
      kitApp(config(NODE), { start: 'vite preview' }),
      'server in .: node build',
    ],
    [
      'the same start as a script is the same',
      kitApp(config(NODE), { start: 'node ./build/index.js' }),
      'server in .: node build',
    ],
    [
      'a server of the app comes first',
      kitApp(config(NODE), { start: 'node server.js' }),
      'server in .: node server.js',
    ],
    ['the adapter for files leaves files', kitApp(config(STATIC)), 'files in build'],
    ['pages moves the files', kitApp(config(STATIC, `{ pages: 'public', assets: 'public' }`)), 'files in public'],
    ['a fallback makes one page', kitApp(config(STATIC, `{ fallback: '200.html' }`)), 'files in build, one page'],
    ['404.html is no page for every path', kitApp(config(STATIC, `{ fallback: '404.html' }`)), 'files in build'],
    ['a base path is kept', kitApp(config(STATIC, '', `paths: { base: '/docs' }`)), 'files in build under /docs'],
    [
      'a base path for production alone is kept',
      kitApp(config(STATIC, '', `paths: { base: process.env.NODE_ENV === 'production' ? '/docs' : '' }`)),
      'files in build under /docs',
    ],
    [
      'a named start serves files',
      kitApp(config(STATIC), { 'wpe-start': 'node serve.js' }),
      'server in .: node serve.js',
    ],
    [
      'the output of a third-party adapter is started by a script',
      kitApp(config('svelte-adapter-bun'), { start: 'bun ./build/index.js' }),
      'server in .: npm run --silent start',
    ],
  ]
  for (const [claim, app, output] of CASES) {
    test(`SvelteKit ${version}: ${claim}`, async () => {
      const plan = await planOf(app)
      assert.deepEqual([plan.framework, outputOf(plan)], ['sveltekit', output])
    })
  }

  for (const adapter of ['auto', 'vercel', 'netlify', 'cloudflare', 'cloudflare-workers']) {
    const replaces = `@sveltejs/adapter-${adapter}`
    test(`SvelteKit ${version}: ${replaces} is replaced by the adapter for Node, whatever its options`, async () => {
      const plan = await planOf(
        kitApp(config(replaces, `{ out: 'elsewhere', runtime: 'edge' }`), { start: 'vercel dev' }),
      )
      assert.equal(outputOf(plan), 'server in .: node build')
      const module = { package: replaces, kind: 'sveltekit', peer: '@sveltejs/kit' }
      assert.deepEqual(plan.adapter, { replaces, by: NODE, environment: {}, module, files: null })
      assert.ok(plan.detectedBy.includes(`${replaces} builds for another host, so ${NODE} takes its place`))
    })

    test(`SvelteKit ${version}: under Plug'n'Play ${replaces} is refused with the ones to install`, async () => {
      const message = await problemOf({ ...kitApp(config(replaces), { start: 'node build' }), ...PLUG_AND_PLAY })
      assert.match(message, new RegExp(`builds with ${replaces}, which cannot run here`))
      assert.match(message, /Install @sveltejs\/adapter-node for a server, or @sveltejs\/adapter-static for files/)
    })
  }
}

test('SvelteKit without an adapter is refused with the ones to install', async () => {
  assert.match(await problemOf(kitApp({ 'vite.config.ts': 'export default {}' })), /without an adapter.*adapter-node/)
})

test('SvelteKit: of two adapters the one that is called counts', async () => {
  const config = `import auto from '@sveltejs/adapter-auto'\nimport files from '${STATIC}'\nexport default { kit: { adapter: files() } }`
  assert.equal(outputOf(await planOf(kitApp({ 'svelte.config.js': config }))), 'files in build')
})

test('SvelteKit: variables under other names are refused, since the port is in PORT', async () => {
  assert.match(await problemOf(kitApp(old(NODE, `{ envPrefix: 'MY_' }`))), /envPrefix: 'MY_'.*PORT/)
})

test('SvelteKit: a server gets the names of the headers with the address of the request', async () => {
  const { output } = await planOf(kitApp(recent(NODE)))
  assert.ok(output.kind === 'server')
  assert.equal(output.environment.PROTOCOL_HEADER, 'x-forwarded-proto')
  assert.equal(output.environment.HOST_HEADER, 'x-forwarded-host')
})

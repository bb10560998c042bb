import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, planOf } from '../../../test/support/plan.ts'

const config = (name: string, text: string): App => ({ [name]: text })

/** The folder of files that the server of an app answers with. */
const CASES: [claim: string, app: App, folders: { folder: string; address: string }[] | undefined][] = [
  ['Next.js', appWith(['next'], {}), [{ folder: '.next/static', address: '/_next/static' }]],
  [
    'Next.js with distDir',
    appWith(['next'], {}, config('next.config.js', `module.exports = { distDir: 'build' }`)),
    [{ folder: 'build/static', address: '/_next/static' }],
  ],
  [
    'Next.js as a standalone folder',
    appWith(['next'], {}, config('next.config.js', `module.exports = { output: 'standalone' }`)),
    [{ folder: '.next/static', address: '/_next/static' }],
  ],
  ['Nuxt', appWith({ nuxt: '^4.0.0' }, {}), [{ folder: 'public', address: '' }]],
  [
    'Nuxt with a server of its own',
    appWith({ nuxt: '^4.0.0' }, { start: 'node mine.js' }),
    [{ folder: '.output/public', address: '' }],
  ],
  [
    'Astro with outDir',
    appWith(
      { astro: '^6.0.0', '@astrojs/node': '^9.0.0' },
      {},
      config(
        'astro.config.mjs',
        `import node from '@astrojs/node'\nexport default { outDir: './out', adapter: node({ mode: 'standalone' }) }`,
      ),
    ),
    [{ folder: 'out/client', address: '' }],
  ],
  [
    'SvelteKit with out',
    appWith(
      ['@sveltejs/kit'],
      {},
      config(
        'svelte.config.js',
        `import adapter from '@sveltejs/adapter-node'\nexport default { kit: { adapter: adapter({ out: 'made' }) } }`,
      ),
    ),
    [{ folder: 'made/client', address: '' }],
  ],
  [
    'React Router with buildDirectory',
    appWith(
      ['@react-router/dev', '@react-router/serve'],
      {},
      config('react-router.config.ts', `export default { buildDirectory: 'out' }`),
    ),
    [{ folder: 'out/client', address: '' }],
  ],
  ['a plain server, whose files are not known', appWith([], { start: 'node server.js' }), undefined],
]

for (const [claim, app, folders] of CASES)
  test(`the plan says where the files for browsers are: ${claim}`, async () => {
    const { output } = await planOf(app)
    assert.ok(output.kind === 'server')
    assert.deepEqual(output.assets, folders)
  })

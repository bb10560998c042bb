import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, outputOf, planOf, problemOf } from '../../../test/support/plan.ts'

const routerApp = (config: string, scripts: unknown = {}, more: string[] = ['@react-router/serve']): App =>
  appWith(['@react-router/dev', 'vite', ...more], scripts, {
    'react-router.config.ts': `export default { ${config} } satisfies Config`,
  })

const remixApp = (options: string, scripts: unknown = {}): App =>
  appWith({ '@remix-run/dev': '^2.17', '@remix-run/serve': '^2.17' }, scripts, {
    'vite.config.ts': `export default defineConfig({ plugins: [remix({ ${options} }), tsconfigPaths()] })`,
  })

const oldRemixApp = (config: string, version: string, scripts: unknown = {}): App =>
  appWith({ '@remix-run/dev': version, '@remix-run/serve': version }, scripts, {
    'remix.config.js': `module.exports = { ${config} }`,
  })

const SERVER = 'server in .: react-router-serve ./build/server/index.js'
const REMIX = 'server in .: remix-serve ./build/server/index.js'

const CASES: [claim: string, framework: string, app: App, output: string][] = [
  ['leaves a server', 'react-router', routerApp(''), SERVER],
  ['ssr: true leaves a server', 'react-router', routerApp('ssr: true'), SERVER],
  [
    'the same start as a script is the same',
    'react-router',
    routerApp('', { start: 'react-router-serve ./build/server/index.js' }),
    SERVER,
  ],
  [
    'flags of the same start are kept',
    'react-router',
    routerApp('', { start: 'cross-env NODE_ENV=production react-router-serve build/server/other.js' }),
    'server in .: react-router-serve build/server/other.js',
  ],
  ['react-router dev is no server for visitors', 'react-router', routerApp('', { start: 'react-router dev' }), SERVER],
  [
    'a server of the app comes first',
    'react-router',
    routerApp('', { start: 'node server.js' }, []),
    'server in .: node server.js',
  ],
  [
    'the build folder moves',
    'react-router',
    routerApp(`buildDirectory: 'out', serverBuildFile: 'main.js'`),
    'server in .: react-router-serve ./out/server/main.js',
  ],
  ['without a server leaves one page', 'react-router', routerApp('ssr: false'), 'files in build/client, one page'],
  [
    'a base path is kept',
    'react-router',
    routerApp(`ssr: false, basename: '/app/'`),
    'files in build/client under /app, one page',
  ],
  [
    'pages that were rendered leave the one page as it is',
    'react-router',
    routerApp(`ssr: false, prerender: ['/about']`),
    'files in build/client, one page',
  ],
  [
    'a home page that was rendered is not the page for every path',
    'react-router',
    routerApp(`ssr: false, prerender: ['/', '/about']`),
    'files in build/client',
  ],
  [
    'a home page that may have been rendered is not either',
    'react-router',
    routerApp(`ssr: false, async prerender() { return pages() }`),
    'files in build/client',
  ],
  [
    'a named start serves files',
    'react-router',
    routerApp('ssr: false', { 'headland-start': 'node serve.js' }),
    'server in .: node serve.js',
  ],
  ['leaves a server', 'remix', remixApp(''), REMIX],
  ['remix vite:dev is no server for visitors', 'remix', remixApp('', { start: 'remix vite:dev' }), REMIX],
  [
    'a server of the app comes first',
    'remix',
    remixApp('', { start: 'node server.js' }),
    'server in .: node server.js',
  ],
  [
    'without a server leaves one page',
    'remix',
    remixApp(`ssr: false, buildDirectory: 'dist', basename: '/x'`),
    'files in dist/client under /x, one page',
  ],
  [
    'with its own compiler leaves a server',
    'remix',
    oldRemixApp('', '^2.0'),
    'server in .: remix-serve build/index.js',
  ],
  [
    'of version 1 leaves a server',
    'remix',
    oldRemixApp('', '^1.19', { start: 'remix-serve build' }),
    'server in .: remix-serve build',
  ],
]

for (const [claim, framework, app, output] of CASES) {
  test(`${framework}: ${claim}`, async () => {
    const plan = await planOf(app)
    assert.deepEqual([plan.framework, outputOf(plan)], [framework, output])
  })
}

test('React Router: a server that nothing starts is refused with what to install', async () => {
  assert.match(await problemOf(routerApp('', {}, [])), /Install @react-router\/serve/)
  assert.match(await problemOf(routerApp('', { start: 'vite preview' }, [])), /Install @react-router\/serve/)
})

test('React Router and Remix are built by their commands where no script does', async () => {
  assert.deepEqual((await planOf(routerApp(''))).build, { argv: ['react-router', 'build'] })
  assert.deepEqual((await planOf(remixApp(''))).build, { argv: ['remix', 'vite:build'] })
  assert.deepEqual((await planOf(oldRemixApp('', '2'))).build, { argv: ['remix', 'build'] })
})

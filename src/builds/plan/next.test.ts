import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, planOf, problemOf, startOf } from '../../../test/support/plan.ts'

const nextApp = (scripts: unknown, files: App = {}): App => appWith({ next: '16.0.0' }, scripts, files)

const STARTS: [script: string | undefined, argv: string[]][] = [
  [undefined, ['next', 'start']],
  ['next start', ['next', 'start']],
  ['next start -p 3000', ['next', 'start']],
  [`next start -p \${PORT:=3000} -H 0.0.0.0`, ['next', 'start']],
  ['NODE_ENV=production next start --port=$PORT', ['next', 'start']],
  ['next start --keepAliveTimeout 70000', ['next', 'start', '--keepAliveTimeout', '70000']],
  ['next dev', ['next', 'start']],
  ['node server.mjs', ['node', 'server.mjs']],
  ['next build && next start', ['npm', 'run', '--silent', 'start']],
  ['next start & other', ['npm', 'run', '--silent', 'start']],
  ['next-start-something', ['npm', 'run', '--silent', 'start']],
]

for (const [script, argv] of STARTS) {
  test(`Next with the start script ${script} is started by ${argv.join(' ')}`, async () => {
    assert.deepEqual(startOf(await planOf(nextApp({ start: script }))), argv)
  })
}

test('a server of Next reports to the edge what it revalidates, and an export does not', async () => {
  const variablesOf = async (config: string) => {
    const { output } = await planOf(nextApp({}, { 'next.config.js': config }))
    return output.kind === 'server' ? output.environment : undefined
  }
  for (const config of ['module.exports = {}', `module.exports = { output: 'standalone' }`])
    assert.deepEqual(await variablesOf(config), { HEADLAND_NEXT_COHERENCE: 'on' })
  assert.equal(await variablesOf(`module.exports = { output: 'export' }`), undefined)
})

const CONFIGS: [config: string, kind: string, folder: string][] = [
  [`module.exports = { output: 'export' }`, 'static', 'out'],
  [`export default { "output": "export" }`, 'static', 'out'],
  ['const config = {}\nconfig.output = `export`\nexport default config', 'static', 'out'],
  [`export default {\n  output:\n    'export' as const,\n}`, 'static', 'out'],
  [`export default withPlugin({ reactStrictMode: true, output: 'standalone' })`, 'server', '.next/standalone'],
  [`const c: NextConfig = { output: 'standalone', distDir: 'build' }`, 'server', 'build/standalone'],
  [`export default { output: 'export', distDir: './dist/' }`, 'static', 'dist'],
  [`export default { output: process.env.NODE_ENV === 'production' ? 'export' : undefined }`, 'static', 'out'],
  [`export default { output: process.env.DOCKER ? 'standalone' : undefined }`, 'server', '.'],
  [`export default { ...(process.env.DOCKER && { output: 'standalone' }) }`, 'server', '.'],
  [`export default { // output: 'export',\n}`, 'server', '.'],
  [`export default { /* output: 'export', */ }`, 'server', '.'],
  [`export default { url: 'http://x', // output: 'export'\n}`, 'server', '.'],
  [`export default { url: 'http://x', output: 'export' }`, 'static', 'out'],
  [`export default { glob: '/*', output: 'export' } // */`, 'static', 'out'],
  [`export default { webpack: (config) => { config.output = 'export'; return config } }`, 'server', '.'],
  [`export default { async headers() { return [{ output: 'export' }] } }`, 'server', '.'],
  [`if (config.output === 'export') throw 1`, 'server', '.'],
  [`export default { output: 'standalone', outputFileTracingRoot: top }`, 'server', '.'],
  ['', 'server', '.'],
]

for (const [config, kind, folder] of CONFIGS) {
  test(`Next: ${config.replaceAll('\n', ' ')} leaves a ${kind} in ${folder}`, async () => {
    const { output } = await planOf(nextApp({}, { 'next.config.ts': config }))
    assert.deepEqual([output.kind, output.folder], [kind, folder])
  })
}

test('Next: distDir moves caches and writable folders, and of two configurations the first counts', async () => {
  const plan = await planOf(
    nextApp({}, { 'next.config.js': `module.exports = { distDir: 'build' }`, 'next.config.mjs': `output: 'export'` }),
  )
  assert.ok(plan.caches.compile.includes('build/cache/turbopack'))
  assert.ok(plan.caches.data.includes('build/cache/fetch-cache'))
  assert.ok(plan.output.kind === 'server' && plan.output.writable.includes('build/cache'))
  assert.ok(plan.detectedBy.includes(`next.config.js says distDir: 'build'`))
})

test('Next: a standalone output in another folder than the top is served by next start, which is always right', async () => {
  const app = { 'web/package.json': { dependencies: { next: '16' } }, 'web/next.config.js': `output = 'standalone'` }
  const plan = await planOf(app, 'web')
  assert.deepEqual(startOf(plan), ['next', 'start'])
  assert.match(plan.detectedBy.join('; '), /depends on folders above/)
})

test('Next: an export says under which path it wants to be served', async () => {
  const config = `export default { async redirects() { return [{ basePath: false }] }, output: 'export', basePath: '/docs' }`
  const { output } = await planOf(nextApp({}, { 'next.config.mjs': config }))
  assert.equal(output.kind === 'static' && output.basePath, '/docs')
})

test('Next: a build script with next export leaves files, as it did before version 13.3', async () => {
  const { output } = await planOf(nextApp({ build: 'next build && next export' }))
  assert.deepEqual([output.kind, output.folder], ['static', 'out'])
})

test('Next: an output folder outside of the app is refused by name', async () => {
  assert.match(await problemOf(nextApp({}, { 'next.config.js': `module.exports = { distDir: '/etc' }` })), /outside/)
})

test('a site of pages alone has no folder of an app router, which would keep an older Next from its start', async () => {
  const writableWith = async (...paths: string[]) => {
    const { output } = await planOf(nextApp({}, Object.fromEntries(paths.map((path) => [path, '']))))
    return output.kind === 'server' ? output.writable : []
  }
  assert.deepEqual(await writableWith('pages/index.js'), ['.next/cache', '.next/server/pages'])
  assert.deepEqual(await writableWith('src/pages/index.js'), ['.next/cache', '.next/server/pages'])
  for (const paths of [['app/page.js'], ['pages/index.js', 'src/app/page.js'], []])
    assert.ok((await writableWith(...paths)).includes('.next/server/app'))
})

const CACHES: [range: string, build: string | undefined, kept: string[]][] = [
  ['16.0.0', 'next build', ['turbopack']],
  ['^16.1.0', undefined, ['turbopack']],
  ['16.0.0', 'next build --webpack', ['webpack', 'swc']],
  ['^15.4.0', 'next build', ['webpack', 'swc']],
  ['~14.2.0', 'prisma generate && next build --turbopack', ['turbopack']],
  ['>=15', 'next build', ['turbopack', 'webpack', 'swc']],
  ['latest', 'next build', ['turbopack', 'webpack', 'swc']],
]

for (const [range, build, kept] of CACHES) {
  test(`Next ${range} built by ${build} keeps what ${kept.join(' and ')} left`, async () => {
    const { caches } = await planOf(appWith({ next: range }, build === undefined ? {} : { build }, {}))
    assert.deepEqual(
      caches.compile,
      kept.map((name) => `.next/cache/${name}`),
    )
  })
}

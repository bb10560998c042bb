import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Problem } from '../contract/index.ts'
import { type Plan, planBuild } from './plan.ts'
import { readProject, type Source } from './project.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))
/** What is there only because somebody built an example where it stands. */
const LEFT_BEHIND = /^(?:node_modules|\.next|out|dist)\//

/** A made-up app: the text of each file, or a value for package.json. */
type App = Record<string, unknown>

const sourceOf = (app: App): Source => ({
  files: Object.keys(app).sort(),
  read: async (path) => {
    const content = app[path]
    return content === undefined || typeof content === 'string' ? content : JSON.stringify(content)
  },
})

const planOf = async (app: App, rootDirectory = ''): Promise<Plan> =>
  planBuild(await readProject(sourceOf(app), rootDirectory))

async function problemOf(app: App, rootDirectory = ''): Promise<string> {
  const error = await planOf(app, rootDirectory).then(
    (plan) => assert.fail(`planned as ${plan.framework}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.reason, 'PLAN_FAILED')
  return error.message
}

const nextApp = (scripts: unknown, files: App = {}): App => ({
  'package.json': { scripts, dependencies: { next: '16.0.0' } },
  ...files,
})
const viteApp = (scripts: unknown, files: App = {}): App => ({
  'package.json': { scripts, devDependencies: { vite: '^8' } },
  'index.html': '',
  ...files,
})
const startOf = ({ output }: Plan): string[] | undefined => (output.kind === 'server' ? output.start.argv : undefined)

test('every example is planned as its expect.json says', async () => {
  for (const entry of await readdir(EXAMPLES, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const folder = join(EXAMPLES, entry.name)
    const found = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = found.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
    const source: Source = {
      files: files.map((file) => file.slice(folder.length + 1)).filter((path) => !LEFT_BEHIND.test(path)),
      read: (path) => readFile(join(folder, path), 'utf8'),
    }
    const plan = planBuild(await readProject(source, ''))
    const expected = JSON.parse(await readFile(join(folder, 'expect.json'), 'utf8')) as { plan: Plan }
    assert.deepEqual(plan, expected.plan, entry.name)
  }
})

test('a plan survives being printed and read again', async () => {
  for (const app of [nextApp({ start: 'next start' }), viteApp({}), { 'index.html': '' }]) {
    const plan = await planOf(app)
    assert.deepEqual(JSON.parse(JSON.stringify(plan)), plan)
  }
})

type Choice = { claim: string; app: App; framework: string; build?: string[] | null; start?: string[]; folder?: string }

const SCRIPTS: Choice[] = [
  {
    claim: 'headland-build comes before wpe-build and build',
    app: nextApp({ build: 'next build', 'wpe-build': 'x', 'headland-build': 'y' }),
    framework: 'nextjs',
    build: ['npm', 'run', 'headland-build'],
  },
  {
    claim: 'wpe-build comes before build',
    app: viteApp({ build: 'vite build', 'wpe-build': 'x' }),
    framework: 'vite',
    build: ['npm', 'run', 'wpe-build'],
  },
  {
    claim: 'a framework that is known is built without a script',
    app: viteApp({}),
    framework: 'vite',
    build: ['node_modules/.bin/vite', 'build'],
  },
  {
    claim: 'headland-start comes before wpe-start and start',
    app: {
      'package.json': { scripts: { start: 'node a.js', 'wpe-start': 'node b.js', 'headland-start': 'node c.js' } },
    },
    framework: 'node',
    build: null,
    start: ['node', 'c.js'],
  },
  {
    claim: 'a start script that is more than words goes through npm',
    app: { 'package.json': { scripts: { start: 'node server.js --port $PORT' } } },
    framework: 'node',
    start: ['npm', 'run', '--silent', 'start'],
  },
  {
    claim: 'a start script with another one before it goes through npm',
    app: { 'package.json': { scripts: { prestart: 'node migrate.js', start: 'node server.js' } } },
    framework: 'node',
    start: ['npm', 'run', '--silent', 'start'],
  },
  {
    claim: 'flags of node are kept',
    app: { 'package.json': { scripts: { start: 'node --max-old-space-size=200 ./src/server.js' } } },
    framework: 'node',
    start: ['node', '--max-old-space-size=200', './src/server.js'],
  },
  {
    claim: 'NODE_ENV=production before node is what every app gets anyway',
    app: { 'package.json': { scripts: { start: 'NODE_ENV=production node server.js' } } },
    framework: 'node',
    start: ['node', 'server.js'],
  },
  {
    claim: 'no operator of a shell ends up as an argument',
    app: { 'package.json': { scripts: { start: 'node a.js && node b.js' } } },
    framework: 'node',
    start: ['npm', 'run', '--silent', 'start'],
  },
]

const NODE: Choice[] = [
  {
    claim: 'a server with something to build is built and started',
    app: { 'package.json': { scripts: { build: 'tsc', start: 'node dist/server.js' } } },
    framework: 'node',
    build: ['npm', 'run', 'build'],
    start: ['node', 'dist/server.js'],
  },
  {
    claim: 'a server.js without a start script is started as npm would',
    app: { 'package.json': {}, 'server.js': '' },
    framework: 'node',
    start: ['node', 'server.js'],
  },
  {
    claim: 'a main that is there is started',
    app: { 'package.json': { main: './src/app.js' }, 'src/app.js': '' },
    framework: 'node',
    start: ['node', 'src/app.js'],
  },
  {
    claim: 'a main beside an index.html is a script of the page',
    app: { 'package.json': { main: 'index.js' }, 'index.js': '', 'index.html': '' },
    framework: 'static',
    folder: '.',
  },
  {
    claim: 'a server that serves what Vite built is a server',
    app: {
      'package.json': {
        scripts: { build: 'vite build', start: 'node server.js' },
        dependencies: { express: '5' },
        devDependencies: { vite: '8' },
      },
    },
    framework: 'node',
    build: ['npm', 'run', 'build'],
    start: ['node', 'server.js'],
  },
]

const STATIC: Choice[] = [
  { claim: 'an index.html at the top is enough', app: { 'index.html': '' }, framework: 'static', folder: '.' },
  ...['public', 'dist', 'build', '_site', 'out'].map((folder) => ({
    claim: `an index.html in ${folder}/ is enough`,
    app: { 'README.md': '', [`${folder}/index.html`]: '' },
    framework: 'static',
    folder,
  })),
  {
    claim: 'a package.json for tools alone does not hide the page, and is not installed',
    app: { 'package.json': { devDependencies: { prettier: '3' } }, 'index.html': '' },
    framework: 'static',
    build: null,
    folder: '.',
  },
]

const UNKNOWN: Choice[] = [
  {
    claim: 'a build and a start script make a server of anything',
    app: { 'package.json': { scripts: { build: 'make', start: 'my-server' } } },
    framework: 'unknown',
    build: ['npm', 'run', 'build'],
    start: ['npm', 'run', '--silent', 'start'],
  },
  {
    claim: 'a build script alone leaves files',
    app: { 'package.json': { scripts: { build: 'make' } } },
    framework: 'unknown',
    folder: 'dist',
  },
  ...[
    'react-scripts start',
    'gatsby develop',
    'eleventy --serve',
    'ng serve',
    'npx parcel index.html',
    'astro dev',
  ].map((start) => ({
    claim: `${start} is not a server for visitors`,
    app: { 'package.json': { scripts: { build: 'make', start } } },
    framework: 'unknown',
    folder: 'dist',
  })),
]

for (const { claim, app, framework, build, start, folder } of [...SCRIPTS, ...NODE, ...STATIC, ...UNKNOWN]) {
  test(`plan: ${claim}`, async () => {
    const plan = await planOf(app)
    assert.equal(plan.framework, framework)
    if (build !== undefined) assert.deepEqual(plan.build?.argv ?? null, build)
    assert.deepEqual(startOf(plan), start ?? startOf(plan))
    if (start !== undefined) assert.equal(plan.output.kind, 'server')
    if (folder !== undefined) assert.deepEqual([plan.output.kind, plan.output.folder], ['static', folder])
  })
}

test('a static output ignores start, and takes headland-start and wpe-start at their word', async () => {
  assert.equal((await planOf(viteApp({ start: 'vite' }))).output.kind, 'static')
  assert.equal((await planOf(viteApp({ start: 'my-server' }))).output.kind, 'static')
  const exported = { 'next.config.js': `module.exports = { output: 'export' }` }
  assert.equal((await planOf(nextApp({ start: 'next start' }, exported))).output.kind, 'static')
  for (const name of ['headland-start', 'wpe-start']) {
    assert.deepEqual(startOf(await planOf(viteApp({ [name]: 'node server.js' }))), ['node', 'server.js'])
    assert.deepEqual(startOf(await planOf(nextApp({ [name]: 'serve out' }, exported))), [
      'npm',
      'run',
      '--silent',
      name,
    ])
  }
})

const NEXT_STARTS: [script: string | undefined, argv: string[]][] = [
  [undefined, ['node_modules/.bin/next', 'start']],
  ['next start', ['node_modules/.bin/next', 'start']],
  ['next start -p 3000', ['node_modules/.bin/next', 'start']],
  [`next start -p \${PORT:=3000} -H 0.0.0.0`, ['node_modules/.bin/next', 'start']],
  ['NODE_ENV=production next start --port=$PORT', ['node_modules/.bin/next', 'start']],
  ['next start --keepAliveTimeout 70000', ['node_modules/.bin/next', 'start', '--keepAliveTimeout', '70000']],
  ['next dev', ['node_modules/.bin/next', 'start']],
  ['node server.mjs', ['node', 'server.mjs']],
  ['next build && next start', ['npm', 'run', '--silent', 'start']],
  ['next start & other', ['npm', 'run', '--silent', 'start']],
  ['next-start-something', ['npm', 'run', '--silent', 'start']],
]

for (const [script, argv] of NEXT_STARTS) {
  test(`Next with the start script ${script} is started by ${argv.join(' ')}`, async () => {
    assert.deepEqual(startOf(await planOf(nextApp({ start: script }))), argv)
  })
}

const NEXT_CONFIGS: [config: string, kind: string, folder: string][] = [
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

for (const [config, kind, folder] of NEXT_CONFIGS) {
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
  assert.deepEqual(startOf(plan), ['node_modules/.bin/next', 'start'])
  assert.match(plan.detectedBy.join('; '), /depends on folders above/)
})

test('Next: an export says under which path it wants to be served', async () => {
  const config = `export default { async redirects() { return [{ basePath: false }] }, output: 'export', basePath: '/docs' }`
  const { output } = await planOf(nextApp({}, { 'next.config.mjs': config }))
  assert.equal(output.kind === 'static' && output.basePath, '/docs')
  const old = await planOf(nextApp({ build: 'next build && next export' }))
  assert.deepEqual([old.output.kind, old.output.folder], ['static', 'out'])
})

type ViteCase = { config?: string; build?: string; folder: string; basePath?: string; isLookedFor?: true }

const VITE_CASES: ViteCase[] = [
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
  { config: `export default { base: './' }`, folder: 'dist' },
  { config: `export default { base: 'https://cdn.example/app/' }`, folder: 'dist' },
  { config: `export default { build: { outDir: resolve(here, 'x') } }`, folder: 'dist', isLookedFor: true },
  { build: 'tsc && vite build --outDir=build --base /app/', folder: 'build', basePath: '/app' },
  { config: `export default { build: { outDir: 'a' } }`, build: 'vite build --outDir b', folder: 'b' },
]

for (const { config, build = 'vite build', folder, basePath = '', isLookedFor = false } of VITE_CASES) {
  test(`Vite: ${config ?? build} leaves one page in ${folder}`, async () => {
    const { output } = await planOf(viteApp({ build }, config === undefined ? {} : { 'vite.config.ts': config }))
    assert.ok(output.kind === 'static' && output.singlePage)
    assert.equal(output.folder, folder)
    assert.equal(output.basePath, basePath)
    assert.equal(output.candidates.length > 0, isLookedFor)
  })
}

test('what is built on Vite is not taken for Vite', async () => {
  const scripts = { build: 'vite build' }
  const plan = await planOf({ 'package.json': { scripts, devDependencies: { vite: '8', '@sveltejs/kit': '2' } } })
  assert.equal(plan.framework, 'unknown')
})

test('an output folder outside of the app is refused by name', async () => {
  const message = await problemOf(
    viteApp({}, { 'vite.config.js': `export default { build: { outDir: '../../etc' } }` }),
  )
  assert.match(message, /vite\.config\.js puts the output into .*etc, outside/)
  assert.match(await problemOf(nextApp({}, { 'next.config.js': `module.exports = { distDir: '/etc' }` })), /outside/)
})

test('the output of an unknown build is looked for, and one page is answered for all where the tool makes one', async () => {
  const plan = await planOf({ 'package.json': { scripts: { build: 'make' } } })
  assert.ok(plan.output.kind === 'static' && !plan.output.singlePage)
  assert.deepEqual(plan.output.candidates, ['build', 'out', '_site', 'public'])
  const react = await planOf({
    'package.json': { scripts: { build: 'x', start: 'react-scripts start' }, dependencies: { 'react-scripts': '5' } },
  })
  assert.ok(react.output.kind === 'static' && react.output.singlePage)
})

const installOf = async (packageJson: unknown, ...files: string[]) => {
  const plan = await planOf({ 'package.json': packageJson, ...Object.fromEntries(files.map((file) => [file, ''])) })
  return {
    argv: plan.install?.argv ?? null,
    lockfile: plan.packageManager?.lockfile,
    because: plan.detectedBy.join('; '),
  }
}

test('dependencies are installed as the lockfile says, or as npm chooses, or not at all', async () => {
  const scripts = { start: 'node a.js' }
  const dependencies = { express: '5' }
  const locked = await installOf({ scripts, dependencies }, 'package-lock.json')
  assert.deepEqual([locked.argv, locked.lockfile], [['npm', 'ci'], 'package-lock.json'])
  assert.deepEqual((await installOf({ scripts, dependencies }, 'npm-shrinkwrap.json')).argv, ['npm', 'ci'])
  assert.deepEqual((await installOf({ scripts, dependencies })).argv, ['npm', 'install'])
  const foreign = await installOf({ scripts, dependencies }, 'pnpm-lock.yaml')
  assert.deepEqual([foreign.argv, foreign.lockfile], [['npm', 'install'], null])
  assert.match(foreign.because, /pnpm-lock\.yaml is of another package manager/)
  assert.equal((await installOf({ scripts })).argv, null)
  assert.equal((await installOf({ scripts, dependencies: {} }, 'package-lock.json')).argv, null)
  assert.deepEqual((await installOf({ scripts, optionalDependencies: { a: '1' } })).argv, ['npm', 'install'])
  assert.deepEqual((await installOf({ scripts: { ...scripts, postinstall: 'node make.js' } })).argv, ['npm', 'install'])
})

test('only what lies in the root directory is seen, however its name is written', async () => {
  const app = { 'package.json': { scripts: { start: 'a' } }, 'web/site/index.html': '', 'website/index.html': '' }
  for (const written of ['web/site', './web/site', 'web//site/', 'web/./site']) {
    const plan = await planOf(app, written)
    assert.deepEqual([plan.framework, plan.rootDirectory, plan.output.folder], ['static', 'web/site', '.'])
  }
  assert.equal((await planOf(app, '.')).rootDirectory, '')
})

test('a root directory that is not there, is a file or leads out is refused by name', async () => {
  const app = { 'index.html': '', 'web/index.html': '', 'docs/a.md': '' }
  assert.match(
    await problemOf(app, 'sites/web'),
    /sites\/web does not exist; the top of the archive has web, docs|docs, web/,
  )
  assert.match(await problemOf(app, 'we'), /root directory we does not exist/)
  assert.match(await problemOf(app, 'index.html'), /index\.html is a file/)
  assert.match(await problemOf(app, '../x'), /leads out/)
  assert.match(await problemOf(app, '/etc'), /leads out/)
})

test('when nothing is recognised, the message says what was looked for and where it may be instead', async () => {
  const empty = await problemOf({ 'README.md': '' })
  for (const wanted of ['package.json', 'index.html', 'public/', 'dist/', 'at the top of the archive'])
    assert.ok(empty.includes(wanted), empty)
  const idle = await problemOf({ 'package.json': {}, 'web/index.html': '' })
  assert.match(idle, /a script build or start in package\.json/)
  assert.match(idle, /There is web\/index\.html: if that is the app, set rootDirectory/)
  assert.match(await problemOf({ 'web/a.md': '' }, 'web'), /not found in web:/)
})

const MALFORMED: [text: string, complaint: RegExp][] = [
  ['{ "scripts": {} ', /^package\.json is not well-formed JSON: /],
  ['', /^package\.json is not well-formed JSON: /],
  ['[]', /must be a JSON object, but it is an array/],
  ['null', /must be a JSON object, but it is null/],
  ['"text"', /must be a JSON object, but it is a string/],
]

for (const [text, complaint] of MALFORMED) {
  test(`a package.json that holds ${JSON.stringify(text)} is refused`, async () => {
    assert.match(await problemOf({ 'package.json': text, 'index.html': '' }), complaint)
  })
}

test('a package.json with a byte order mark is read', async () => {
  assert.equal((await planOf({ 'package.json': '\uFEFF{"scripts":{"start":"node a.js"}}' })).framework, 'node')
})

test('a package.json that is too large to be read is refused', async () => {
  const source: Source = { files: ['package.json'], read: async () => undefined }
  await assert.rejects(readProject(source, ''), /package\.json could not be read: it is too large/)
})

test('scripts and dependencies of the wrong type are as good as none', async () => {
  const wrong = [null, 1, 'build', [], ['build'], { build: 1, start: null }, { build: '', start: '  ' }]
  for (const scripts of wrong) {
    const app = { 'package.json': { scripts, dependencies: scripts, main: scripts }, 'index.html': '' }
    assert.equal((await planOf(app)).framework, 'static', JSON.stringify(scripts))
  }
  const odd = '{"scripts":{"__proto__":"x","constructor":"y"},"dependencies":{"__proto__":{"next":"1"}}}'
  assert.equal((await planOf({ 'package.json': odd, 'index.html': '' })).framework, 'static')
})

test('a configuration that is made to be slow to read is read in no time', async () => {
  for (const unit of ['/*', "'", '`', '{a:', '{"a":[', '\\', 'output:', '/* *'])
    await planOf(nextApp({}, { 'next.config.js': unit.repeat(300_000) }))
})

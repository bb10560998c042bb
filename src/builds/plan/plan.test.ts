import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type App, appWith, planOf, problemOf, startOf } from '../../../test/support/plan.ts'
import type { Plan } from './plan.ts'
import { planBuild } from './plan-build.ts'
import type { Source } from './project/project.ts'
import { readProject } from './project/read-project.ts'

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url))
/** Files that exist only because an example was built in its folder. */
const LEFT_BEHIND =
  /^(?:node_modules|\.next|\.nuxt|\.output|\.astro|\.svelte-kit|\.docusaurus|\.cache|_site|out|dist|dist-server|build)\//

const nextApp = (scripts: unknown, files: App = {}): App => appWith({ next: '16.0.0' }, scripts, files)
const viteApp = (scripts: unknown, files: App = {}): App =>
  appWith({ vite: '^8' }, scripts, { 'index.html': '', ...files })

type Expected = { rootDirectory?: string; plan: Plan }

test('every example is planned as its expect.json says', async () => {
  for (const entry of await readdir(EXAMPLES, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const folder = join(EXAMPLES, entry.name)
    const found = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = found.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
    const read = (path: string) => readFile(join(folder, path), 'utf8')
    const source: Source = {
      files: files.map((file) => file.slice(folder.length + 1)).filter((path) => !LEFT_BEHIND.test(path)),
      read,
      head: async (path, bytes) => (await read(path)).slice(0, bytes),
    }
    const expected = JSON.parse(await readFile(join(folder, 'expect.json'), 'utf8')) as Expected
    const plan = planBuild(await readProject(source, expected.rootDirectory ?? ''))
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
    build: ['vite', 'build'],
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

const publishing = (folder: string): App => ({ 'netlify.toml': `[build]\npublish = "${folder}"\n` })
const NAMED: [claim: string, app: App, folder: string][] = [
  ['publish of netlify.toml', { ...publishing('site/'), 'site/a.html': '', 'index.html': '' }, 'site'],
  ['a slash at its beginning', { ...publishing('/web/site'), 'web/site/index.html': '' }, 'web/site'],
  ['outputDirectory of vercel.json', { 'vercel.json': { outputDirectory: 'www' }, 'www/index.html': '' }, 'www'],
  ['a folder that is not there counts for nothing', { ...publishing('site'), 'public/index.html': '' }, 'public'],
  ['nor does one outside of the app', { ...publishing('../site'), 'index.html': '' }, '.'],
  ['nor does a file that cannot be read', { 'netlify.toml': '[build', 'vercel.json': '{', 'index.html': '' }, '.'],
]

for (const [claim, app, folder] of NAMED)
  test(`files of a project that was at another host: ${claim}`, async () => {
    const plan = await planOf(app)
    assert.deepEqual([plan.framework, plan.output.folder], ['static', folder])
  })

test('the folder that another host was told is looked for before the usual ones, and the top is never published', async () => {
  const built = { 'package.json': { scripts: { build: 'node build.js' } } }
  const { output, detectedBy } = await planOf({ ...built, ...publishing('generated') })
  assert.ok(output.kind === 'static')
  assert.deepEqual([output.folder, output.candidates], ['generated', ['dist', 'build', 'out', '_site', 'public']])
  assert.ok(detectedBy.includes("netlify.toml says publish: 'generated'"), String(detectedBy))
  assert.equal((await planOf({ ...built, ...publishing('.') })).output.folder, 'dist')
})

test('a project with nothing but the build command of another host is told where to put it', async () => {
  assert.match(
    await problemOf({ 'netlify.toml': '[build]\ncommand = "hugo"\n', 'content/a.md': '' }),
    /netlify\.toml says command: 'hugo'\. .* make it the script headland-build/,
  )
})

test('a static output ignores start, and takes headland-start and wpe-start at their word', async () => {
  assert.equal((await planOf(viteApp({ start: 'vite' }))).output.kind, 'static')
  assert.equal((await planOf(viteApp({ start: 'my-server' }))).output.kind, 'static')
  const exported = { 'next.config.js': `module.exports = { output: 'export' }` }
  assert.equal((await planOf(nextApp({ start: 'next start' }, exported))).output.kind, 'static')
  for (const name of ['headland-start', 'wpe-start']) {
    assert.deepEqual(startOf(await planOf(viteApp({ [name]: 'node server.js' }))), ['node', 'server.js'])
    const argv = ['npm', 'run', '--silent', name]
    assert.deepEqual(startOf(await planOf(nextApp({ [name]: 'serve out' }, exported))), argv)
  }
})

test('the output of an unknown build is looked for, and one page is answered for all where the tool makes one', async () => {
  const plan = await planOf({ 'package.json': { scripts: { build: 'make' } } })
  assert.ok(plan.output.kind === 'static' && !plan.output.singlePage)
  assert.deepEqual(plan.output.candidates, ['build', 'out', '_site', 'public'])
  const react = await planOf(appWith({ 'react-scripts': '5' }, { build: 'x', start: 'react-scripts start' }))
  assert.ok(react.output.kind === 'static' && react.output.singlePage)
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

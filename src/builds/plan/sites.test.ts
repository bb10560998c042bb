/** Frameworks that leave files and nothing else: Gatsby, Eleventy, Docusaurus, VitePress. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, outputOf, planOf, problemOf } from '../../../test/support/plan.ts'

const gatsbyApp = (config: string, scripts: unknown = {}): App =>
  appWith(['gatsby'], scripts, { 'gatsby-config.js': `module.exports = { ${config} }` })

const eleventyApp = (config: string, scripts: unknown = {}): App =>
  appWith(['@11ty/eleventy'], scripts, { 'eleventy.config.js': config })

const docusaurusApp = (config: string, scripts: unknown = {}): App =>
  appWith(['@docusaurus/core'], scripts, {
    'docusaurus.config.js': `const config = { ${config} }\nexport default config`,
  })

const vitepressApp = (config: string, scripts: unknown, folder = 'docs/'): App =>
  appWith(['vitepress'], scripts, { [`${folder}.vitepress/config.mts`]: `export default defineConfig({ ${config} })` })

const CASES: [claim: string, framework: string, app: App, output: string][] = [
  ['leaves files', 'gatsby', gatsbyApp(''), 'files in public'],
  [
    'a prefix alone changes nothing',
    'gatsby',
    gatsbyApp(`pathPrefix: '/blog'`, { build: 'gatsby build' }),
    'files in public',
  ],
  [
    'a prefix that is asked for is the base path',
    'gatsby',
    gatsbyApp(`pathPrefix: '/blog'`, { build: 'gatsby build --prefix-paths' }),
    'files in public under /blog',
  ],
  ['gatsby develop is not used', 'gatsby', gatsbyApp('', { start: 'gatsby develop' }), 'files in public'],
  [
    'a named start serves them',
    'gatsby',
    gatsbyApp('', { 'headland-start': 'gatsby serve -p $PORT' }),
    'server in .: npm run --silent headland-start',
  ],

  ['leaves files', 'eleventy', appWith(['@11ty/eleventy'], {}), 'files in _site'],
  [
    'what a function returns moves them',
    'eleventy',
    eleventyApp(
      `module.exports = function (config) {\n config.addPlugin(x)\n return { dir: { input: 'src', output: 'dist' }, pathPrefix: '/blog/' } }`,
    ),
    'files in dist under /blog',
  ],
  [
    'what is exported beside moves them',
    'eleventy',
    eleventyApp(`export default function (config) {}\nexport const config = { dir: { output: 'www' } }`),
    'files in www',
  ],
  [
    'a call moves them',
    'eleventy',
    eleventyApp(`export default async function (eleventyConfig) { eleventyConfig.setOutputDirectory("build") }`),
    'files in build',
  ],
  [
    'flags move them',
    'eleventy',
    eleventyApp('', { build: 'npx @11ty/eleventy --output=public --pathprefix /blog' }),
    'files in public under /blog',
  ],
  ['eleventy --serve is not used', 'eleventy', eleventyApp('', { start: 'eleventy --serve' }), 'files in _site'],
  ['a named start serves them', 'eleventy', eleventyApp('', { 'wpe-start': 'node x.js' }), 'server in .: node x.js'],

  ['leaves files', 'docusaurus', docusaurusApp(`baseUrl: '/'`), 'files in build'],
  ['baseUrl is the base path', 'docusaurus', docusaurusApp(`baseUrl: '/docs/'`), 'files in build under /docs'],
  [
    'a flag moves them',
    'docusaurus',
    docusaurusApp('', { build: 'docusaurus build --out-dir public' }),
    'files in public',
  ],
  ['docusaurus start is not used', 'docusaurus', docusaurusApp('', { start: 'docusaurus start' }), 'files in build'],
  [
    'a named start serves them',
    'docusaurus',
    docusaurusApp('', { 'wpe-start': 'node x.js' }),
    'server in .: node x.js',
  ],

  [
    'leaves files beside its source',
    'vitepress',
    vitepressApp('', { build: 'vitepress build docs' }),
    'files in docs/.vitepress/dist',
  ],
  [
    'of the top leaves files there',
    'vitepress',
    vitepressApp('', { build: 'vitepress build' }, ''),
    'files in .vitepress/dist',
  ],
  [
    'without a script is found by its configuration',
    'vitepress',
    vitepressApp('', {}, 'site/'),
    'files in site/.vitepress/dist',
  ],
  [
    'outDir is taken from the source',
    'vitepress',
    vitepressApp(`outDir: '../public', base: '/x/'`, { build: 'vitepress build docs' }),
    'files in public under /x',
  ],
  [
    'flags win',
    'vitepress',
    vitepressApp(`base: '/x/'`, { build: 'vitepress build docs --base /y/ --outDir out' }),
    'files in out under /y',
  ],
  [
    'vitepress dev is not used',
    'vitepress',
    vitepressApp('', { start: 'vitepress dev docs' }),
    'files in docs/.vitepress/dist',
  ],
  ['a named start serves them', 'vitepress', vitepressApp('', { 'wpe-start': 'node x.js' }), 'server in .: node x.js'],
]

for (const [claim, framework, app, output] of CASES) {
  test(`${framework}: ${claim}`, async () => {
    const plan = await planOf(app)
    assert.deepEqual([plan.framework, outputOf(plan)], [framework, output])
  })
}

test('VitePress: the script that builds the documentation is run, whatever build builds', async () => {
  const plan = await planOf(vitepressApp('', { build: 'tsc', 'docs:build': 'vitepress build docs --base /x/' }))
  assert.deepEqual(plan.build, { argv: ['npm', 'run', 'docs:build'] })
  assert.equal(outputOf(plan), 'files in docs/.vitepress/dist under /x')
})

test('VitePress beside an app of Vite is its documentation', async () => {
  const scripts = { build: 'vite build', 'docs:build': 'vitepress build docs' }
  const app = { ...appWith(['vite', 'vitepress'], scripts), 'index.html': '', 'docs/.vitepress/config.ts': '' }
  assert.equal((await planOf(app)).framework, 'vite')
})

test('each is built by its command where no script does', async () => {
  assert.deepEqual((await planOf(gatsbyApp(''))).build, { argv: ['gatsby', 'build'] })
  assert.deepEqual((await planOf(eleventyApp(''))).build, { argv: ['eleventy'] })
  assert.deepEqual((await planOf(docusaurusApp(''))).build, { argv: ['docusaurus', 'build'] })
  assert.deepEqual((await planOf(vitepressApp('', {}))).build, { argv: ['vitepress', 'build', 'docs'] })
})

test('an output folder outside of the app is refused by name', async () => {
  assert.match(await problemOf(eleventyApp('', { build: 'eleventy --output=../x' })), /the script build puts .*outside/)
  assert.match(await problemOf(vitepressApp(`outDir: '../../x'`, { build: 'vitepress build docs' })), /outside/)
})

test('Gatsby: functions need a server, and a sentence says so', async () => {
  const plan = await planOf({ ...gatsbyApp(''), 'src/api/hello.js': '' })
  assert.match(plan.detectedBy.join('; '), /src\/api\/ needs a server/)
})

test('what was fetched is never among the caches to keep', async () => {
  const { caches } = await planOf(gatsbyApp(''))
  assert.ok(caches.data.includes('.cache/caches') && !caches.compile.includes('.cache/caches'))
  assert.deepEqual((await planOf(eleventyApp(''))).caches, { compile: [], data: ['.cache'] })
})

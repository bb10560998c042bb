import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type App, appWith, outputOf, planOf, problemOf } from '../../../test/support/plan.ts'

type Build = { builder?: string; options?: unknown; configurations?: unknown; defaultConfiguration?: string }

const angularJson = (build: Build, name = 'shop') => ({
  projects: {
    lib: { projectType: 'library', architect: { build: { builder: '@angular/build:ng-packagr' } } },
    [name]: { projectType: 'application', architect: { build: { builder: '@angular/build:application', ...build } } },
  },
})

const angularApp = (build: Build, scripts: unknown = { start: 'ng serve', build: 'ng build' }): App =>
  appWith(['@angular/core', '@angular/cli'], scripts, { 'angular.json': angularJson(build) })

const SSR = { ssr: { entry: 'src/server.ts' }, server: 'src/main.server.ts', outputMode: 'server' }

const CASES: [claim: string, app: App, output: string][] = [
  ['leaves one page', angularApp({}), 'files in dist/shop/browser, one page'],
  ['outputPath moves it', angularApp({ options: { outputPath: 'www' } }), 'files in www/browser, one page'],
  [
    'outputPath in parts moves it',
    angularApp({ options: { outputPath: { base: 'www', browser: '' } } }),
    'files in www, one page',
  ],
  ['a flag moves it', angularApp({}, { build: 'ng build --output-path=out' }), 'files in out/browser, one page'],
  [
    'the older builder has no folder for the browser',
    angularApp({ builder: '@angular-devkit/build-angular:browser', options: { outputPath: 'dist/shop' } }),
    'files in dist/shop, one page',
  ],
  [
    'baseHref is a base path',
    angularApp({ options: { baseHref: '/shop/' } }),
    'files in dist/shop/browser under /shop, one page',
  ],
  [
    'a flag is a base path',
    angularApp({}, { build: 'ng build --base-href /shop/' }),
    'files in dist/shop/browser under /shop, one page',
  ],
  [
    'options of the configuration win',
    angularApp({ options: { baseHref: '/a/' }, configurations: { production: { baseHref: '/b/' } } }),
    'files in dist/shop/browser under /b, one page',
  ],
  [
    'the configuration of a flag counts',
    angularApp({ configurations: { staging: { outputPath: 'stage' } } }, { build: 'ng build -c staging' }),
    'files in stage/browser, one page',
  ],
  ['rendering makes a server', angularApp({ options: SSR }), 'server in dist/shop: node server/server.mjs'],
  [
    'packages that stay outside are kept',
    angularApp({ options: { ...SSR, externalDependencies: ['sharp'] } }),
    'server in .: node dist/shop/server/server.mjs',
  ],
  [
    'pages that are all rendered by the build are files',
    angularApp({ options: { ...SSR, outputMode: 'static' } }),
    'files in dist/shop/browser, one page',
  ],
  [
    'a server of the app comes first',
    angularApp({ options: SSR }, { start: 'node server.js' }),
    'server in .: node server.js',
  ],
  ['a named start serves files', angularApp({}, { 'wpe-start': 'node serve.js' }), 'server in .: node serve.js'],
]

for (const [claim, app, output] of CASES) {
  test(`Angular: ${claim}`, async () => {
    const plan = await planOf(app)
    assert.deepEqual([plan.framework, outputOf(plan)], ['angular', output])
  })
}

test('Angular: the app that the script names is built', async () => {
  const first = angularJson({}, 'first').projects
  const second = angularJson({}, 'second').projects
  const app = (build: string) =>
    appWith(['@angular/core'], { build }, { 'angular.json': { projects: { ...first, ...second } } })
  assert.equal((await planOf(app('ng build'))).output.folder, 'dist/first/browser')
  assert.equal((await planOf(app('ng build second'))).output.folder, 'dist/second/browser')
  assert.equal((await planOf(app('ng build --project=second'))).output.folder, 'dist/second/browser')
})

test('Angular: a server renders for every host that leads to it', async () => {
  const { output, environment } = await planOf(angularApp({ options: SSR }))
  assert.ok(output.kind === 'server')
  assert.deepEqual(output.environment, {
    NG_ALLOWED_HOSTS: '*',
    NG_TRUST_PROXY_HEADERS: 'x-forwarded-for,x-forwarded-host,x-forwarded-proto',
  })
  assert.equal(environment.NG_CLI_ANALYTICS, 'false')
})

test('Angular: comments in angular.json are read over', async () => {
  const text = `// hello\n${JSON.stringify(angularJson({}))} /* bye */`
  assert.equal((await planOf(appWith(['@angular/core'], {}, { 'angular.json': text }))).framework, 'angular')
})

for (const text of [
  '{',
  '[]',
  '{}',
  '{"projects":[]}',
  '{"projects":{"a":null}}',
  '{"projects":{"a":{"architect":1}}}',
])
  test(`Angular: an angular.json that holds ${text} is refused or taken as it is`, async () => {
    const app = appWith(['@angular/core'], {}, { 'angular.json': text })
    const done = await planOf(app).then(outputOf, async () => problemOf(app))
    assert.match(done, /angular\.json (?:is not well-formed|has no app)|files in dist\/a\/browser/)
  })

test('Angular: an output folder outside of the app is refused by name', async () => {
  assert.match(await problemOf(angularApp({ options: { outputPath: '../x' } })), /angular\.json puts the output into/)
})

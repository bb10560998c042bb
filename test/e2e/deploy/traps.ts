/** Properties of real apps that break hosts. Each app is really built. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import type { resources } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isLong } from '../../support/long.ts'
import { deploy, type Files, nodeServer } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { service } from './service.ts'

const as = await service.login()

type Given = { shellVariables?: { key: string; value: string }[] }

async function deployed(files: Files, given: Given = {}) {
  const draft = { displayName: 'Trap', branch: 'uploadable', cmsEnvironment: 'cms', ...given }
  const { name, url } = await createEnvironment(service, as, { body: draft })
  const done = await deploy(service, as, name, files)
  const build: resources.Build = (await service.call(`/v1/${done.metadata.build}`, { as })).json
  const log = (await service.call(`/v1/${done.metadata.build}/log`, { as })).text
  return { build, log, answer: (path = '/') => siteAnswer(service, url, path) }
}

const manifest = (more: Record<string, unknown>): Files => ({
  'package.json': JSON.stringify({ name: 'trap', ...more }),
})
const { 'server.js': SERVER = '' } = nodeServer('it runs')
const WRITE_PAGE = `require('node:fs').mkdirSync('dist', { recursive: true }); require('node:fs').writeFileSync('dist/index.html', 'a page')`

/** A package as npm packs it. */
async function packedAs(name: string, files: Record<string, string>): Promise<Buffer> {
  const folder = await temporaryFolder({ after })
  await mkdir(join(folder, 'package'))
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, 'package', path), text)
  await promisify(execFile)('tar', ['-czf', join(folder, `${name}.tgz`), '-C', folder, 'package'])
  return readFile(join(folder, `${name}.tgz`))
}

test('a start script with shell syntax is run by a shell', async () => {
  const start = `[ -n "$PORT" ] && export GREETING="$(echo it)" ; node server.js`
  const { log, answer } = await deployed({ ...manifest({ scripts: { start } }), 'server.js': SERVER })
  assert.equal((await answer()).text, 'it runs', log)
})

test('scripts that are named for this host win over build and start', async () => {
  const scripts = {
    build: 'exit 1',
    start: 'exit 1',
    'wpe-build': 'echo made > made',
    'headland-start': 'node server.js',
  }
  const { log, answer } = await deployed({ ...manifest({ scripts }), 'server.js': SERVER })
  assert.equal((await answer()).text, 'it runs', log)
})

test('a start script that is a server for development is not run where the build leaves files', async () => {
  const scripts = { build: 'node build.js', start: 'webpack serve --open' }
  const { log, answer } = await deployed({ ...manifest({ scripts }), 'build.js': WRITE_PAGE })
  assert.equal((await answer()).text, 'a page', log)
})

test('an app without a start script is started by its server.js', async () => {
  const { log, answer } = await deployed({ ...manifest({}), 'server.js': SERVER })
  assert.equal((await answer()).text, 'it runs', log)
})

test('husky in a prepare script does no harm, and packages are still cached', async () => {
  const husky = { version: '9.1.7', dev: true, bin: { husky: 'bin.js' } }
  const integrity = 'sha512-5gs5ytaNjBrh5Ow3zrvdUUY+0VxIuWVL4i9irt6friV+BqdCfmV11CQTWMiBYWHbXhco+J1kHfTOUkePhCDvMA=='
  const about = { name: 'trap', devDependencies: { husky: '9.1.7' } }
  const { build, log, answer } = await deployed({
    ...manifest({ ...about, scripts: { prepare: 'husky', build: 'node build.js' } }),
    'package-lock.json': JSON.stringify({
      ...{ name: 'trap', lockfileVersion: 3, requires: true },
      packages: { '': about, 'node_modules/husky': { ...husky, integrity } },
    }),
    'build.js': WRITE_PAGE,
  })
  assert.equal((await answer()).text, 'a page', log)
  assert.ok(Array.isArray((build.plan as { install: { inputs: unknown } }).install.inputs))
})

test('a post-install script that cannot download is DOWNLOAD_FAILED, with the line that shows it', async () => {
  const scripts = { postinstall: 'curl -sSf http://127.0.0.1:9/browser.zip -o browser.zip', build: 'true' }
  const { build, log } = await deployed(manifest({ scripts }))
  assert.equal(build.failure?.reason, 'DOWNLOAD_FAILED', log)
  const shown = log.split('\n').find((line) => line.startsWith(`${build.failure?.logLine} `))
  assert.match(shown ?? '', /postinstall|curl|127\.0\.0\.1/)
})

test('known installers are told not to download browsers', async () => {
  const build = `node -e "console.log([process.env.PUPPETEER_SKIP_DOWNLOAD, process.env.PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD, process.env.CYPRESS_INSTALL_BINARY, process.env.HUSKY].join())"; node build.js`
  const { log } = await deployed({ ...manifest({ scripts: { build } }), 'build.js': WRITE_PAGE })
  assert.match(log, /1,1,0,0$/m)
})

test('a build that calls a CMS that is down is CMS_UNREACHABLE and names it', async () => {
  const ask = `fetch(process.env.CMS_URL + '/wp-json/wp/v2/posts').then((r) => r.json())`
  const { build, log } = await deployed(
    { ...manifest({ scripts: { build: 'node build.js' } }), 'build.js': ask },
    { shellVariables: [{ key: 'CMS_URL', value: 'http://127.0.0.1:9' }] },
  )
  assert.equal(build.failure?.reason, 'CMS_UNREACHABLE', log)
  assert.equal(build.failure?.retryable, true)
})

test('a host that no variable names is a DOWNLOAD_FAILED, and not the CMS', async () => {
  const ask = `fetch('https://fonts.example.invalid/inter.woff2').then((r) => r.text())`
  const { build, log } = await deployed(
    { ...manifest({ scripts: { build: 'node build.js' } }), 'build.js': ask },
    { shellVariables: [{ key: 'CMS_URL', value: 'https://cms.example.invalid' }] },
  )
  assert.equal(build.failure?.reason, 'DOWNLOAD_FAILED', log)
  assert.match(
    build.failure?.message ?? '',
    /^fonts\.example\.invalid could not be reached: .* No shell variable names it/,
  )
})

test('a native package that is missing without a lockfile is reported with the package that needs it, and no lockfile is blamed', async () => {
  const native = `@acme/tool-linux-${process.arch}-gnu`
  const about = { name: 'tool', version: '4.60.1', main: 'main.js', optionalDependencies: { [native]: '4.60.1' } }
  const packed = await packedAs('tool', {
    'package.json': JSON.stringify(about),
    'main.js': `require(${JSON.stringify(native)})`,
  })
  const { build, log } = await deployed({
    ...manifest({ dependencies: { tool: 'file:tool.tgz' }, scripts: { build: `node -e "require('tool')"` } }),
    'tool.tgz': packed,
  })
  assert.equal(build.failure?.reason, 'NATIVE_PACKAGE_MISSING', log)
  const expected = `The native package ${native} is missing for linux-${process.arch}, which tool 4.60.1 asks for.`
  assert.ok(log.includes(expected), log)
  const { message = '', todo = '' } = build.failure ?? {}
  assert.match(message, /The app has no lockfile, so the newest tool that package\.json allows was taken \(4\.60\.1\)/)
  assert.doesNotMatch(message + todo, /package-lock\.json|lockfile anew/)
})

test('a package that no registry has is DEPENDENCY_NOT_FOUND and named', async () => {
  const dependencies = { 'no-such-package-of-headland': '1.0.0' }
  const { build, log } = await deployed(manifest({ dependencies, scripts: { build: 'true' } }))
  assert.equal(build.failure?.reason, 'DEPENDENCY_NOT_FOUND', log)
  assert.match(build.failure?.message ?? '', /no-such-package-of-headland/)
})

test('a lockfile that does not match is LOCKFILE_MISMATCH', async () => {
  const { build, log } = await deployed({
    ...manifest({ dependencies: { 'is-number': '7.0.0' }, scripts: { build: 'true' } }),
    'package-lock.json': JSON.stringify({ name: 'trap', lockfileVersion: 3, requires: true, packages: { '': {} } }),
  })
  assert.equal(build.failure?.reason, 'LOCKFILE_MISMATCH', log)
})

test('a build that runs out of memory is OUT_OF_MEMORY', async () => {
  const build = `node --max-old-space-size=40 -e "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)"`
  const trap = await deployed(manifest({ scripts: { build } }))
  assert.equal(trap.build.failure?.reason, 'OUT_OF_MEMORY', trap.log)
})

test('a command that is not there is COMMAND_NOT_FOUND and named', async () => {
  const { build, log } = await deployed(manifest({ scripts: { build: 'gulp-of-long-ago build' } }))
  assert.equal(build.failure?.reason, 'COMMAND_NOT_FOUND', log)
  assert.match(build.failure?.message ?? '', /gulp-of-long-ago/)
})

test('a failure says what changed since the last successful build, names of variables and never their values', async () => {
  const draft = { displayName: 'Trap', branch: 'uploadable', cmsEnvironment: 'cms' }
  const { name } = await createEnvironment(service, as, { body: draft })
  const app = (build: string): Files => ({ ...manifest({ scripts: { build: 'node build.js' } }), 'build.js': build })
  await deploy(service, as, name, app(WRITE_PAGE))
  const body = { shellVariables: [{ key: 'API_KEY', value: 'not-for-your-eyes' }] }
  const changed = await service.call(`/v1/${name}`, { method: 'PATCH', as, body })
  await service.call(`/v1/${changed.json.name}:wait?timeout=60s`, { method: 'POST', as })
  const failed = await deploy(service, as, name, app('process.exit(1)'))
  const { json } = await service.call(`/v1/${failed.metadata.build}`, { as })
  const changes = json.failure.changes.join('\n')
  assert.match(changes, /build\.js/)
  assert.match(changes, /API_KEY/)
  assert.doesNotMatch(JSON.stringify(json), /not-for-your-eyes/)
})

test('files that were made for a base path are served under it', async () => {
  const scripts = { build: 'node build.js' }
  const files = {
    ...manifest({ scripts, devDependencies: { vite: '8.2.2' } }),
    'vite.config.js': `export default { base: '/docs/', build: { outDir: 'site' } }`,
    'build.js': `require('node:fs').mkdirSync('site'); require('node:fs').writeFileSync('site/index.html', 'under docs')`,
  }
  const { log, answer } = await deployed(files)
  assert.equal((await answer('/docs/')).text, 'under docs', log)
  assert.equal((await answer('/')).headers.location, '/docs/')
  assert.equal((await answer('/elsewhere')).status, 404)
})

test('Node is the one that the app asks for, at build and at run', async () => {
  const server = `require('node:http').createServer((_, r) => r.end(process.version)).listen(process.env.PORT)`
  const { build, log, answer } = await deployed({
    ...manifest({ engines: { node: '16' }, scripts: { build: 'node --version', start: 'node server.js' } }),
    'server.js': server,
  })
  assert.match((await answer()).text, /^v16\./, log)
  assert.match(log, /BUILDING stdout v16\./)
  assert.match(build.tools?.node ?? '', /^16\./)
})

/** Each is fetched, as any version but the one of the service. The one above is the older one as well. */
const PAST = [['16', '2023-09-11'] as const, ...(isLong ? [['18', '2025-04-30'] as const] : [])]

for (const [line, end] of PAST)
  test(`an app that asks for Node ${line} gets it, and is warned in the log and with the build`, async () => {
    const server = `require('http').createServer((_, r) => r.end(process.version)).listen(process.env.PORT)`
    const { build, log, answer } = await deployed({
      ...manifest({ scripts: { build: 'node --version', start: 'node server.js' } }),
      '.nvmrc': `${line}\n`,
      'server.js': server,
    })
    assert.match((await answer()).text, new RegExp(`^v${line}\\.`), log)
    const warning = `Node ${build.tools?.node} no longer gets security fixes (since ${end}). Change .nvmrc to 24 as soon as the app runs on it.`
    assert.deepEqual(build.warnings, [warning])
    assert.ok(log.includes(`PLANNING service Warning: ${warning}\n`), log)
  })

test('an unavailable Node version is refused with the file to change and what to write there', async () => {
  const { build, log } = await deployed({ ...manifest({ scripts: { start: 'node a.js' } }), '.nvmrc': 'v99.1.0' })
  assert.equal(build.failure?.reason, 'PLAN_FAILED', log)
  assert.match(
    build.failure?.message ?? '',
    /^\.nvmrc asks for Node 99\.1\.0, .*\. Change \.nvmrc to 24, or to another/,
  )
})

test("a script of Yarn 3 reads the folder that it is in, and a value of the tenant's wins over the default", async () => {
  const about = { name: 'trap', packageManager: 'yarn@3.8.7' }
  const script = (file: string) => `INIT_CWD=$PWD FOLDER=$PWD node ${file}`
  const seen = `JSON.stringify([process.env.FOLDER, process.cwd(), process.env.LANG, process.env.TERM, process.env.CI ?? 'none'])`
  const { log, answer } = await deployed(
    {
      ...manifest({ ...about, scripts: { build: script('build.js'), start: script('server.js') } }),
      'yarn.lock':
        '__metadata:\n  version: 6\n\n"trap@workspace:.":\n  version: 0.0.0-use.local\n  resolution: "trap@workspace:."\n  languageName: unknown\n  linkType: soft\n',
      '.yarnrc.yml': 'nodeLinker: node-modules\n',
      'build.js': `console.log(${seen})`,
      'server.js': `require('node:http').createServer((_, r) => r.end(${seen})).listen(process.env.PORT, process.env.HOST)`,
    },
    {
      shellVariables: [
        ['LANG', 'de_DE.UTF-8'],
        ['CI', 'false'],
      ].map(([key = '', value = '']) => ({ key, value })),
    },
  )
  assert.match(log, /BUILDING stdout \["\/app","\/app",/)
  assert.deepEqual(JSON.parse((await answer()).text), ['/app', '/app', 'de_DE.UTF-8', 'dumb', 'false'])
})

/** Pages that are open in a browser load their scripts after a deployment: files with a hash in their name stay. */
import assert from 'node:assert/strict'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, type Files, reasonOf, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const settings = { HEADLAND_KEEP_DEPLOYMENTS: '1' }
/** A service that is started inside a test runs until the end of the file. */
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
let service = await startService(file, { settings })
const as = await service.login()

const FOREVER = 'public, max-age=31536000, immutable'
const scriptOf = (version: string): string => `/assets/app-${version.repeat(4)}Aa11.js`

/** A site as a bundler leaves it. */
const site = (version: string): Files => ({
  'index.html': `<p>${version}</p><script type="module" src="${scriptOf(version)}"></script>`,
  [scriptOf(version).slice(1)]: `console.log('script ${version}')`,
  [`assets/data-${version.repeat(4)}Aa11.json`]: '{}',
})

/** A server whose framework leaves its scripts in a folder. The framework is imitated by a package of the archive. */
const server = (version: string): Files => ({
  'package.json': JSON.stringify({
    scripts: { build: 'node build.js', start: 'node server.js' },
    dependencies: { '@react-router/dev': 'file:./framework' },
  }),
  'framework/package.json': JSON.stringify({ name: '@react-router/dev', version: '8.0.0' }),
  'build.js': `const fs = require('node:fs')
    fs.mkdirSync('build/client/assets', { recursive: true })
    fs.writeFileSync('build/client${scriptOf(version)}', "console.log('script ${version}')")
    fs.symlinkSync('/etc/passwd', 'build/client/assets/link-BxK3d9Aq.js')`,
  'server.js': `const http = require('node:http')
    const fs = require('node:fs')
    const server = http.createServer((request, response) => {
      if (request.url === '${scriptOf(version)}') return response.end(fs.readFileSync('build/client${scriptOf(version)}'))
      response.writeHead(request.url === '/' ? 200 : 404)
      response.end('the app ${version}')
    })
    server.listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => server.close(() => process.exit()))`,
})

async function deployed(name: string, files: Files): Promise<resources.Operation> {
  const done = await deploy(service, as, name, files)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  return done
}

const rebuild = async (name: string, body: { clean?: boolean }): Promise<resources.Operation> => {
  const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body })
  return untilDone(service, as, asked.json.name)
}

const folderOf = (name: string): string =>
  join(service.dataDir, 'environments', name.split('/').at(-1) ?? '', 'earlier')
const urlOf = async (name: string): Promise<string> => (await service.call(`/v1/${name}`, { as })).json.url

/** Which of the versions' scripts are there. */
async function scriptsOf(name: string, versions = 'abcd'): Promise<string> {
  const url = await urlOf(name)
  let found = ''
  for (const version of versions) {
    const { status, text } = await siteAnswer(service, url, scriptOf(version))
    if (status === 200) assert.equal(text, `console.log('script ${version}')`)
    if (status === 200) found += version
  }
  return found
}

const live: { name: string; kind: string }[] = []

for (const [kind, files] of Object.entries({ static: site, server })) {
  test(`${kind}: after three deployments the scripts of all are there, and everything else is the newest`, async () => {
    const { name } = await createEnvironment(service, as)
    live.push({ name, kind })
    const first = await deployed(name, files('a'))
    await deployed(name, files('b'))
    await deployed(name, files('c'))
    // The first output is gone: one deployment is kept beside the live one.
    await until(async () => {
      const { json } = await service.call(`/v1/${first.metadata.deployment}`, { as })
      return json.activatable === false
    })
    assert.equal(await scriptsOf(name), 'abc')
    const url = await urlOf(name)
    const old = await siteAnswer(service, url, scriptOf('a'))
    assert.equal(old.headers['cache-control'], FOREVER)
    assert.equal(old.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(old.headers['cache-status'], 'headland; hit; detail=earlier-file')
    assert.match((await siteAnswer(service, url)).text, /\bc\b/)
    for (const path of ['/assets/data-aaaaAa11.json', '/assets/link-BxK3d9Aq.js', '/assets/none-BxK3d9Aq.js']) {
      const { status, text } = await siteAnswer(service, url, path)
      assert.equal(status, 404, path)
      assert.ok(!text.includes('root:'), path)
    }
  })
}

test('a failed deployment was never live, and leaves nothing', async () => {
  const { name } = await createEnvironment(service, as)
  await deployed(name, server('a'))
  const broken = { ...server('b'), 'server.js': 'process.exit(1)' }
  assert.equal(reasonOf(await deploy(service, as, name, broken)), 'START_CRASHED')
  await deployed(name, server('c'))
  assert.equal(await scriptsOf(name), 'ac')
})

test('after a rollback, the deployment that was left is an earlier one', async () => {
  const { name } = await createEnvironment(service, as)
  const first = await deployed(name, site('a'))
  await deployed(name, site('b'))
  const asked = await service.call(`/v1/${first.metadata.deployment}:activate`, { method: 'POST', as })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  assert.equal(await scriptsOf(name), 'ab')
  const own = await siteAnswer(service, await urlOf(name), scriptOf('a'))
  assert.equal(own.headers['cache-status'], 'headland; hit; detail=file')
})

test('another environment has none of these files', async () => {
  const { name } = await createEnvironment(service, as)
  await deployed(name, site('d'))
  assert.equal(await scriptsOf(name), 'd')
})

test('after a restart of the edge alone, and of everything, the files are there', async () => {
  process.kill(service.edgePid(), 'SIGKILL')
  for (const { name } of live) {
    await until(() =>
      scriptsOf(name).then(
        (found) => found.includes('ab'),
        () => false,
      ),
    )
  }
  assert.equal(await service.stop(), 0)
  service = await startService(file, { dataDir: service.dataDir, settings })
  for (const { name } of live) assert.equal(await scriptsOf(name), 'abc')
})

test('a Clean Rebuild ends the files of deployments before it, also if its output is the same', async () => {
  for (const { name } of live) {
    const done = await rebuild(name, { clean: true })
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    const log = await service.call(`/v1/${done.metadata.build}/log`, { as })
    assert.match(log.text, /no files of earlier deployments are served any more/)
    assert.equal(await scriptsOf(name), 'c')
    await until(async () => (await readdir(folderOf(name))).length === 0)
  }
})

test('a Rebuild that is not clean, and a purge of the cache, leave them', async () => {
  const { name } = live.find(({ kind }) => kind === 'static') ?? assert.fail()
  await deployed(name, site('d'))
  assert.equal(await scriptsOf(name), 'cd')
  await service.call(`/v1/${name}:clearCache`, { method: 'POST', as, body: {} })
  assert.equal((await rebuild(name, {})).error, undefined)
  assert.equal(await scriptsOf(name), 'cd')
})

test('with its environment the files are deleted', async () => {
  const { name } = live.find(({ kind }) => kind === 'static') ?? assert.fail()
  const url = await urlOf(name)
  await access(folderOf(name))
  const asked = await service.call(`/v1/${name}`, { method: 'DELETE', as })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  assert.equal((await siteAnswer(service, url, scriptOf('c'))).status, 404)
  await assert.rejects(access(folderOf(name)), { code: 'ENOENT' })
})

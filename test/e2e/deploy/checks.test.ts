/** Checked promotion: a new version is asked for the pages of visitors before they get it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, type Files, reasonOf, untilDone, uploadWithQuery } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { createCommandLine } from '../../support/service/headland.ts'
import { startService } from '../../support/service/service.ts'
import { triggersOf } from '../../support/service/webhooks.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.push(end) }
after(async () => {
  for (const end of ends.toReversed()) await end()
})

const service = await startService(file, { settings: { HEADLAND_IDLE_TIMEOUT: '3' } })
const as = await service.login()

/** Its pages link each other; `answers` changes what some of them do. It tells who has asked it. */
const app = (version: string, answers = ''): Files => ({
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
  'server.js': `
    const seen = []
    const server = require('node:http').createServer((request, response) => {
      const [path] = request.url.split('?')
      seen.push(request.method + ' ' + path + ' ' + (request.headers['user-agent'] ?? ''))
      if (path === '/seen') return response.end(JSON.stringify(seen))
      response.setHeader('content-type', 'text/html')
      ${answers}
      if (path === '/members') return response.writeHead(302, { location: '/login' }).end()
      if (path === '/app.js') return response.end('1')
      if (path !== '/' && path !== '/a' && path !== '/b' && path !== '/random') return response.writeHead(404).end()
      const filler = path === '/random' ? 'x'.repeat(Math.random() * 20000) : 'y'.repeat(2000)
      response.end('<h1>${version}</h1><script src="/app.js"></script><a href="/a">a</a><a href="/b">b</a>' +
        '<a href="/random">r</a><a href="/members">m</a><a href="http://127.0.0.1:1/inner">other</a><p>' + filler)
    })
    server.listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => server.close(() => process.exit()))
  `,
})

/** Apps of most tests never sleep. */
const made = (promotionChecks: resources.ChangedPromotionChecks, minInstances = 1) =>
  createEnvironment(service, as, {
    body: { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms', promotionChecks, minInstances },
  })
const read = async (name: string) => (await service.call(`/v1/${name}`, { as })).json
const textOf = async (url: string, path = '/') => (await siteAnswer(service, url, path)).text
const logOf = async ({ metadata }: resources.Operation): Promise<string> =>
  (await service.call(`/v1/${metadata.build}/log`, { as })).text

async function checkOf(name: string): Promise<resources.PromotionCheck> {
  const deployment: resources.Deployment = await read(name)
  assert.ok(deployment.check, JSON.stringify(deployment))
  return deployment.check
}

const liveCheck = async (name: string) => checkOf((await read(name)).deployment)

async function went(operation: resources.Operation) {
  assert.equal(operation.error, undefined, JSON.stringify(operation.error))
  return operation
}

test('with BLOCK, a page that turned into an error holds the version, and force goes on', async () => {
  const { name, url, promotionChecks } = await made({ mode: 'BLOCK' })
  assert.deepEqual(promotionChecks, { mode: 'BLOCK', pages: 50, timeoutSeconds: 60, effectiveMode: 'BLOCK' })
  await went(await deploy(service, as, name, app('one')))
  const first = await liveCheck(name)
  assert.deepEqual([first.outcome, first.comparedWith, first.pagesFrom], ['PASSED', 'NOTHING', 'SITE'])
  assert.deepEqual(first.pages.map(({ path }) => path).sort(), ['/', '/a', '/b', '/members', '/random'])

  for (const path of ['/a', '/a', '/b', '/random', '/', '/members']) await textOf(url, path)
  await until(async () => {
    const { top } = await read(`${name}/trafficPaths?range=24h`)
    return ['/a', '/b', '/random'].every((path) => top.some((one: { path: string }) => one.path === path))
  }, 'the visits are counted')

  const broken = "if (path === '/a') { console.error('TypeError: broken'); return response.writeHead(500).end() }"
  const held = await deploy(service, as, name, app('two', broken))
  assert.equal(reasonOf(held), 'CHECK_FAILED')
  assert.match(
    held.error?.message ?? '',
    /^1 page of \d+ .*\/a: It answered 200, and now 500\. .*still get the live one/,
  )
  assert.match(await textOf(url), /one/, 'the live version stays')
  const environment: resources.Environment = await read(name)
  assert.deepEqual(
    [environment.latestBuild?.reason, environment.held?.build, environment.retry],
    ['CHECK_FAILED', held.metadata.build, undefined],
  )
  const deployment: resources.Deployment = await read(environment.held?.deployment ?? '')
  assert.deepEqual([deployment.state, deployment.activatable, deployment.instance], ['HELD', true, undefined])
  const check = await checkOf(deployment.name)
  assert.deepEqual(
    [check.outcome, check.mode, check.comparedWith, check.pagesFrom, check.broken],
    ['HELD', 'BLOCK', 'LIVE', 'VISITS', 1],
  )
  const [worst] = check.pages
  assert.deepEqual([worst?.path, worst?.before?.status, worst?.after.status], ['/a', 200, 500])
  assert.ok(check.before && check.after && check.after.p95Milliseconds >= check.after.medianMilliseconds)
  assert.match(check.logErrors?.lines[0] ?? '', /TypeError: broken/)
  const log = await logOf(held)
  for (const line of [/Checking \d+ pages beside the live version/, /Broken: \/a: It answered 200/, /deploy --force/])
    assert.match(log, line)
  assert.equal((await read(held.metadata.build)).held.reason, 'CHECK_FAILED')

  const forced = await uploadWithQuery(service, as, { environment: name, query: '?force=true' }, app('two', broken))
  const done = await went(await untilDone(service, as, forced.json.name))
  assert.match(await textOf(url), /two/)
  assert.equal((await liveCheck(name)).outcome, 'FORCED')
  assert.match((await read(done.metadata.build)).warnings.join(' '), /\/a: It answered 200, and now 500/)
  const [trigger] = await triggersOf(service, as, name)
  assert.deepEqual([trigger?.action, trigger?.source, trigger?.forced], ['DEPLOY', 'API', true])
  assert.equal(trigger?.requestedBy?.name, done.metadata.requestedBy?.name)
  // What was broken before is not broken now.
  await went(await deploy(service, as, name, app('three', broken)))
  assert.equal((await liveCheck(name)).broken, 0)
})

test('with WARN it goes live with warnings; a log-in that stays is no warning, and one that is new is', async () => {
  const { name, url } = await made({ mode: 'WARN' })
  await deploy(service, as, name, app('one'))
  const next = "if (path === '/b') return response.writeHead(302, { location: '/login' }).end()"
  const done = await went(await deploy(service, as, name, app('two', next)))
  assert.match(await textOf(url), /two/)
  const check = await liveCheck(name)
  assert.deepEqual([check.outcome, check.broken], ['WARNED', 1])
  assert.match(
    (await read(done.metadata.build)).warnings.join(' '),
    /\/b: It answered 200, and now redirects to a log-in/,
  )
})

test('with OFF nothing is asked for', async () => {
  const { name, url } = await made({ mode: 'OFF' })
  await deploy(service, as, name, app('one'))
  await went(await deploy(service, as, name, app('two', "if (path === '/a') return response.writeHead(500).end()")))
  const seen = await textOf(url, '/seen')
  assert.doesNotMatch(seen, /headland-check/)
  assert.equal((await read((await read(name)).deployment)).check, undefined)
})

test('a version that sleeps is not woken: its own check is compared with', async () => {
  const { name, url } = await made({ mode: 'BLOCK' }, 0)
  await deploy(service, as, name, app('one'))
  const { deployment } = await read(name)
  await until(async () => (await read(deployment)).instance?.state === 'ASLEEP', 'it sleeps')
  const held = await deploy(service, as, name, app('two', "if (path === '/b') return response.writeHead(500).end()"))
  assert.equal(reasonOf(held), 'CHECK_FAILED')
  assert.equal((await read(deployment)).instance?.state, 'ASLEEP')
  const check = await checkOf((await read(name)).held.deployment)
  assert.deepEqual([check.comparedWith, check.pages[0]?.path], ['RECORD', '/b'])
  assert.match(await textOf(url), /one/)
})

test('of a static site, a page that is gone and a script that is missing hold it, until a user makes it live', async () => {
  const { name, url } = await made({ mode: 'BLOCK' })
  const site = (links: string, more: Files = {}): Files => ({
    'index.html': `<!doctype html><script src="/app.js"></script>${links}`,
    'app.js': '1',
    ...more,
  })
  const links = '<a href="/about">About</a>'
  await deploy(service, as, name, site(links, { 'about.html': `<p>${'x'.repeat(600)}` }))
  const held = await deploy(service, as, name, site(links))
  assert.equal(reasonOf(held), 'CHECK_FAILED')
  assert.match(held.error?.message ?? '', /\/about: It answered 200, and now 404\. .*removed on purpose/)
  const { 'app.js': _, ...noScript } = site(links, { 'about.html': `<p>${'x'.repeat(600)}` })
  assert.match(
    (await deploy(service, as, name, noScript)).error?.message ?? '',
    /It loads what is not there: \/app\.js/,
  )

  const { deployment } = (await read(name)).held
  const asked = await service.call(`/v1/${deployment}:activate`, { method: 'POST', as })
  await went(await untilDone(service, as, asked.json.name))
  assert.equal((await siteAnswer(service, url, '/app.js')).status, 404)
  const [trigger] = await triggersOf(service, as, name)
  assert.deepEqual([trigger?.action, trigger?.forced, trigger?.operation], ['DEPLOY', true, asked.json.name])
})

test('the command line sets the mode, names the broken pages, and forces', async () => {
  const cwd = await temporaryFolder(file)
  const login = { HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password, HEADLAND_URL: service.api }
  const { headland, project } = createCommandLine({ PATH: process.env.PATH, HOME: cwd, ...login }, cwd)
  const { name, url } = await made({ mode: 'WARN' })
  const [, account = '', , appName = '', , env = ''] = name.split('/')
  const place = ['--account', account, '--app', appName, '--env', env]
  await deploy(service, as, name, app('one'))
  const changed = await headland(
    ['envs', 'change', env, '--promotion-checks', 'block', '--check-pages', '9', ...place.slice(0, 4)],
    { cwd },
  )
  assert.equal(changed.code, 0, changed.stderr)
  const shown = await headland(['envs', 'show', env, ...place.slice(0, 4)], { cwd })
  assert.match(shown.stdout, /promotion checks +block, 9 pages within 60 s/)

  const folder = await project(app('two', "if (path === '/a') return response.writeHead(500).end()"))
  const held = await headland(['deploy', ...place], { cwd: folder })
  assert.notEqual(held.code, 0)
  assert.match(held.stderr, /CHECK_FAILED/)
  const { deployment } = (await read(name)).held
  const report = await headland(['deployments', 'show', deployment, ...place], { cwd })
  assert.match(report.stdout, /held: broken pages[\s\S]*\/a +BROKEN +200, \d+ ms +500, \d+ ms/)
  const forced = await headland(['deploy', '--force', ...place], { cwd: folder })
  assert.equal(forced.code, 0, forced.stderr)
  assert.match(await textOf(url), /two/)
  const triggers = await headland(['triggers', ...place], { cwd })
  assert.match(triggers.stdout, /DEPLOY, forced/)
})

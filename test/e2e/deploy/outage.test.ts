/** A CMS that is down while a site is built: production keeps its pages, and gets the new ones when the CMS is back. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { reasonToSkip } from '../../support/machine/network.ts'
import { deploy, type Files, reasonOf, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks, hook, triggersOf } from '../../support/service/webhooks.ts'
import { addAddress } from '../../support/service/wordpress.ts'
import { until } from '../../support/until.ts'

/** Servers that one test starts may be used by the next. */
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.push(end) }
after(async () => {
  for (const end of ends.toReversed()) await end()
})

const skip = (await reasonToSkip(file)) ?? false
const address = skip ? '127.0.0.1' : await addAddress(file)

/** A CMS with so many posts. After `stop` nothing listens on its port; when broken, it answers with errors. */
async function startCms(posts: number) {
  const cms = { posts, isBroken: false, port: 0 }
  let server: Server
  async function start() {
    server = createServer((_, response) => {
      if (cms.isBroken) return response.writeHead(500).end()
      response.end(JSON.stringify(Array.from({ length: cms.posts }, (_, at) => `post-${at + 1}`)))
    })
    server.listen(cms.port, address)
    await once(server, 'listening')
    cms.port = (server.address() as AddressInfo).port
  }
  async function stop() {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  await start()
  file.after(() => server.close())
  return Object.assign(cms, { start, stop })
}

/** A front end that swallows errors, as many do. */
const site = (mark = '', onError = 'return []'): Files => ({
  'package.json': JSON.stringify({ name: 'site', description: mark, scripts: { build: 'node build.js' } }),
  'build.js': `
    const fs = require('node:fs')
    const page = (name, text) => {
      fs.mkdirSync('dist/' + name, { recursive: true })
      fs.writeFileSync('dist/' + name + '/index.html', text)
    }
    const list = async () => {
      try { return await (await fetch(process.env.CMS_URL + '/posts')).json() } catch (error) { ${onError} }
    }
    list().then((posts) => {
      page('', 'list of ' + posts.length)
      for (const post of posts) page(post, 'text of ' + post)
    })
  `,
})

const cms = await startCms(30)
const settings = { HEADLAND_ALLOWED_NETWORKS: `${address}:${cms.port}`, HEADLAND_RETRY_INTERVAL: '2' }
let service = await startService(file, { settings })
const as = await service.login()

async function made(): Promise<resources.Environment> {
  const variables = [{ key: 'CMS_URL', value: `http://${address}:${cms.port}` }]
  const body = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms', shellVariables: variables }
  return createEnvironment(service, as, { body })
}

const read = async (name: string) => (await service.call(`/v1/${name}`, { as })).json
const readEnvironment = (name: string): Promise<resources.Environment> => read(name)
const buildOf = ({ metadata }: resources.Operation): Promise<resources.Build> => read(metadata.build)
const logOf = async ({ metadata }: resources.Operation): Promise<string> =>
  (await service.call(`/v1/${metadata.build}/log`, { as })).text
const statusOf = async (url: string, path: string) => (await siteAnswer(service, url, path)).status

async function rebuild(name: string, body: { force?: boolean } = {}): Promise<resources.Operation> {
  const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body })
  assert.equal(asked.status, 200, asked.text)
  return untilDone(service, as, asked.json.name)
}

async function activate(deployment: string): Promise<resources.Operation> {
  const asked = await service.call(`/v1/${deployment}:activate`, { method: 'POST', as })
  assert.equal(asked.status, 200, asked.text)
  return untilDone(service, as, asked.json.name)
}

test('a webhook during an outage of the CMS leaves the posts, and they are new when it is back', {
  skip,
}, async (t) => {
  const { name, url } = await made()
  const first = await deploy(service, as, name, site())
  assert.equal(first.error, undefined, JSON.stringify(first.error))
  assert.equal(await statusOf(url, '/post-30/'), 200)
  const urls = await createWebhooks(service, as, name)

  const follower = await follow(t, service, { as })
  await cms.stop()
  const called = await hook(service, urls.rebuild)
  const done = await untilDone(service, as, called.json.name)
  assert.equal(reasonOf(done), 'SUSPICIOUS_OUTPUT')
  assert.equal(await statusOf(url, '/post-30/'), 200, 'visitors get the same pages as before')

  const build = await buildOf(done)
  assert.equal(build.state, 'SUCCEEDED')
  const contact = { host: undefined, port: cms.port, refused: false, outcome: 'CONNECTION_REFUSED' }
  assert.deepEqual(
    build.contacts?.map(({ host, port, refused, outcome }) => ({ host, port, refused, outcome })),
    [contact],
  )
  assert.deepEqual(build.held?.unreachable, [{ host: address, port: cms.port, outcome: 'CONNECTION_REFUSED' }])
  assert.deepEqual([build.held?.lostPages?.before, build.held?.lostPages?.now], [31, 1])
  assert.ok(build.held?.lostPages?.names.includes('/post-1'))
  const log = await logOf(done)
  assert.match(log, /refused the connection/)
  assert.match(log, /Missing: \/post-1, /)
  assert.match(log, /headland deployments activate/)

  const environment = await readEnvironment(name)
  assert.equal(environment.held?.build, done.metadata.build)
  assert.deepEqual(environment.retry?.hosts, [`${address}:${cms.port}`])
  assert.equal(environment.latestOperation?.reason, 'SUSPICIOUS_OUTPUT')
  assert.equal(environment.latestBuild?.reason, 'SUSPICIOUS_OUTPUT')
  const deployment: resources.Deployment = await read(environment.held?.deployment ?? '')
  assert.deepEqual([deployment.state, deployment.activatable, deployment.liveTime], ['HELD', true, undefined])
  for (const changed of [build.name, deployment.name, done.name]) await follower.untilNamed(changed)
  follower.close()
  const [trigger] = await triggersOf(service, as, name)
  assert.equal(trigger?.operation, done.name, 'the ledger names the operation of the call')

  // The pending retry survives a restart of the service.
  await service.stop()
  service = await startService(file, { settings, dataDir: service.dataDir })
  cms.posts = 31
  await cms.start()
  await until(async () => (await statusOf(url, '/post-31/')) === 200, 'the site was built again by itself')
  const later = await until(async () => {
    const now = await readEnvironment(name)
    return !now.reconciling && now
  }, 'the rebuild is over')
  assert.deepEqual([later.held, later.retry], [undefined, undefined])
  const sources = (await triggersOf(service, as, name)).map(({ source }) => source)
  assert.deepEqual(sources, ['SERVICE', 'WEBHOOK'])
  const held: resources.Deployment = await read(deployment.name)
  assert.equal(held.activatable, false, 'the held build has been replaced')
})

test('an upload during an outage goes live with a warning, and is built again when the CMS is back', {
  skip,
}, async () => {
  cms.posts = 30
  const { name, url } = await made()
  await deploy(service, as, name, site())
  await cms.stop()
  const done = await deploy(service, as, name, site('another archive'))
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  assert.equal(await statusOf(url, '/post-30/'), 404)
  const build = await buildOf(done)
  assert.equal(build.held, undefined)
  assert.match(build.warnings.join(' '), /could not be reached: .* refused the connection/)
  assert.match(build.warnings.join(' '), /31 .*Missing: \/post-1, .*on purpose/)
  await cms.start()
  await until(async () => (await statusOf(url, '/post-30/')) === 200, 'the site was built again by itself')
})

test('a rebuild that fails since the CMS is down is built again when it is back', { skip }, async () => {
  const { name, url } = await made()
  await deploy(service, as, name, site('', 'throw error'))
  await cms.stop()
  assert.equal(reasonOf(await rebuild(name)), 'CMS_UNREACHABLE')
  assert.deepEqual((await readEnvironment(name)).retry?.hosts, [`${address}:${cms.port}`])
  cms.posts = 32
  await cms.start()
  await until(async () => (await statusOf(url, '/post-32/')) === 200, 'the site was built again by itself')
  cms.posts = 30
})

test('a CMS that answers with errors costs no pages, and the held build can be made live by hand', {
  skip,
}, async () => {
  const { name, url } = await made()
  await deploy(service, as, name, site())
  cms.isBroken = true
  const done = await rebuild(name)
  assert.equal(reasonOf(done), 'SUSPICIOUS_OUTPUT')
  const build = await buildOf(done)
  assert.equal(build.contacts?.[0]?.outcome, 'CONNECTED', 'the content of the connection is not visible')
  assert.deepEqual(build.held?.unreachable, [])
  assert.equal(build.held?.lostPages?.count, 30)
  assert.equal(await statusOf(url, '/post-30/'), 200)

  const { held } = await readEnvironment(name)
  const activated = await activate(held?.deployment ?? '')
  assert.equal(activated.error, undefined, JSON.stringify(activated.error))
  assert.equal(await statusOf(url, '/post-30/'), 404)
  const now = await readEnvironment(name)
  assert.deepEqual([now.deployment, now.held, now.retry], [held?.deployment, undefined, undefined])
  cms.isBroken = false
})

test('a forced rebuild, or one of an environment that only warns, goes live with a warning', { skip }, async () => {
  const { name, url } = await made()
  await deploy(service, as, name, site())
  cms.isBroken = true
  const forced = await rebuild(name, { force: true })
  assert.equal(forced.error, undefined, JSON.stringify(forced.error))
  assert.match((await buildOf(forced)).warnings.join(' '), /Missing: \/post-1,/)
  assert.equal(await statusOf(url, '/post-30/'), 404)

  cms.isBroken = false
  assert.equal((await rebuild(name)).error, undefined)
  const suspiciousOutput = { action: 'WARN', maxLostPagesPercent: 50, minLostPages: 5 }
  const changed = await service.call(`/v1/${name}`, { method: 'PATCH', as, body: { suspiciousOutput } })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual((await untilDone(service, as, changed.json.name)).response?.suspiciousOutput, suspiciousOutput)
  cms.isBroken = true
  const warned = await rebuild(name)
  assert.equal(warned.error, undefined, JSON.stringify(warned.error))
  assert.equal(await statusOf(url, '/post-30/'), 404)
  cms.isBroken = false
})

test('invalid limits are refused with their allowed range', async () => {
  const { name } = await made()
  for (const suspiciousOutput of [
    { action: 'HOLD', maxLostPagesPercent: 101, minLostPages: 10 },
    { action: 'HOLD', maxLostPagesPercent: 20, minLostPages: 0 },
    { action: 'HOLD', maxLostPagesPercent: 2.5, minLostPages: 10 },
    { action: 'IGNORE', maxLostPagesPercent: 20, minLostPages: 10 },
    { action: 'HOLD' },
    20,
  ]) {
    const refused = await service.call(`/v1/${name}`, { method: 'PATCH', as, body: { suspiciousOutput } })
    assert.equal(refused.status, 400, refused.text)
  }
})

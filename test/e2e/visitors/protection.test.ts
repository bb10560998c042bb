/** Environments that are not for everybody, on a real service with two edges: an app, a static site, and what survives. */
import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, nodeServer, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { edgesOf } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks } from '../../support/service/webhooks.ts'
import { until } from '../../support/until.ts'

const PASSWORD = 'correct horse'
const BASIC = { authorization: `Basic ${Buffer.from(`ci:${PASSWORD}`).toString('base64')}` }
const PAGE = { accept: 'text/html' }

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const service = await startService(scope, { settings: { HEADLAND_EDGES: '2', HEADLAND_IDLE_TIMEOUT: '2' } })
const as = await service.login()

/** Counts its visitors, lets each answer be stored, and says what it got. */
const COUNTING = `response.setHeader('cache-control', 'public, s-maxage=3600')
  globalThis.count = (globalThis.count ?? 0) + 1
  const { cookie, authorization } = request.headers
  return response.end(JSON.stringify({ count: globalThis.count, cookie, authorization }))`
const ECHO = `
  server.on('upgrade', (request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
    socket.pipe(socket).on('error', () => undefined)
  })`
const files = nodeServer('', COUNTING)
files['server.js'] += ECHO

const server = await createEnvironment(service, as)
const serverDeployment = (await deploy(service, as, server.name, files)).metadata.deployment
const site = await createEnvironment(service, as)
assert.equal((await deploy(service, as, site.name, page('a file'))).error, undefined)

async function change(environment: resources.Environment, body: object): Promise<resources.Environment> {
  const asked = await service.call(`/v1/${environment.name}`, { method: 'PATCH', as, body })
  assert.equal(asked.status, 200, asked.text)
  const done = await untilDone(service, as, asked.json.name)
  assert.equal(done.error, undefined)
  return done.response as resources.Environment
}

const get = ({ url }: resources.Environment, headers: OutgoingHttpHeaders = {}, path = '/') =>
  siteAnswer(service, url, path, headers)

/** Both edges answer: each of them takes a part of many connections. */
const everyAnswer = async (environment: resources.Environment, headers: OutgoingHttpHeaders = {}) =>
  Promise.all(Array.from({ length: 12 }, () => get(environment, headers)))

async function unlock({ url }: resources.Environment, password = PASSWORD): Promise<string | undefined> {
  const { hostname, port } = new URL(service.edge)
  const headers = { host: new URL(url).host, 'content-type': 'application/x-www-form-urlencoded' }
  const sent = request({ host: hostname, port, method: 'POST', path: '/.headland/unlock', headers, agent: false })
  sent.end(new URLSearchParams({ password }).toString())
  const cookie = await new Promise<string | undefined>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => {
      response.resume()
      resolve(response.headers['set-cookie']?.[0]?.split(';')[0])
    })
  })
  return cookie
}

/** The status with which an upgrade is answered. */
function upgrade({ url }: resources.Environment, more: OutgoingHttpHeaders = {}): Promise<number> {
  const { hostname, port } = new URL(service.edge)
  const headers = { host: new URL(url).host, connection: 'Upgrade', upgrade: 'websocket', ...more }
  return new Promise((resolve, reject) => {
    const sent = request({ host: hostname, port, headers, agent: false }).end()
    sent.on('error', reject)
    sent.on('response', (response) => resolve(response.resume().statusCode ?? 0))
    sent.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve(response.statusCode ?? 0)
    })
  })
}

test('a new environment is hidden from search engines until it is production, on every edge, without a deployment', async () => {
  for (const environment of [server, site]) {
    assert.equal(environment.production, false)
    for (let round = 0; round < 3; round++)
      for (const { headers } of await everyAnswer(environment)) assert.equal(headers['x-robots-tag'], 'noindex')
    assert.equal((await get(environment, {}, '/missing')).headers['x-robots-tag'], 'noindex')
    const changed = await change(environment, { production: true })
    assert.equal(changed.production, true)
    for (const { headers } of await everyAnswer(environment)) assert.equal(headers['x-robots-tag'], undefined)
    assert.equal(changed.deployment !== '', true)
    const { json } = await service.call(`/v1/${environment.name}/deployments`, { as })
    assert.equal(json.deployments.length, 1)
  }
})

test('a password holds on every edge when its operation is done, for an app and for files', async () => {
  for (const environment of [server, site]) {
    const open = await get(environment)
    assert.equal(open.status, 200)
    const changed = await change(environment, { protection: { password: PASSWORD } })
    assert.deepEqual(changed.protection, { hasPassword: true, addresses: [] })
    for (const { status, text } of await everyAnswer(environment, PAGE)) {
      assert.equal(status, 401)
      assert.match(text, /<form method="post" action="\/\.headland\/unlock">/)
    }
    assert.match(String((await get(environment)).headers['www-authenticate']), /^Basic /)
    for (const { status, headers } of await everyAnswer(environment, BASIC)) {
      assert.equal(status, 200)
      assert.match(String(headers['cache-control']), /^private\b(?!.*(?:public|s-maxage))/)
    }
    const cookie = await unlock(environment)
    assert.ok(cookie)
    for (const { status } of await everyAnswer(environment, { cookie })) assert.equal(status, 200)
  }
})

test('a cookie is good for its own environment alone, and the app does not get it', async () => {
  const cookie = await unlock(server)
  assert.equal((await get(site, { cookie })).status, 401)
  const { text } = await get(server, { cookie: `a=1; ${cookie}`, 'cache-control': 'no-cache' })
  assert.equal(JSON.parse(text).cookie, 'a=1')
  const basic = await get(server, { ...BASIC, 'cache-control': 'no-cache' })
  assert.equal(JSON.parse(basic.text).authorization, undefined)
})

test('a WebSocket needs the password', async () => {
  assert.equal(await upgrade(server), 401)
  assert.equal(await upgrade(server, { cookie: await unlock(server) }), 101)
  assert.equal(await upgrade(server, BASIC), 101)
})

test('stored pages are shared by those who know the password, and a purge reaches them', async () => {
  const cookie = await unlock(server)
  const stored = await until(async () => {
    const answer = await get(server, { cookie }, '/stored')
    return /hit/.test(String(answer.headers['cache-status'])) && answer
  })
  const asked = await service.call(`/v1/${server.name}:clearCache`, { method: 'POST', as, body: {} })
  await untilDone(service, as, asked.json.name)
  assert.notEqual((await get(server, { cookie }, '/stored')).text, stored.text)
})

test('webhooks are not behind the password', async () => {
  const urls = await createWebhooks(service, as, site.name)
  const called = await fetch(urls.purgeCache, { method: 'POST' })
  assert.equal(called.status, 200)
})

test('a visitor without the password does not wake a sleeping app', async () => {
  const state = async () => (await service.call(`/v1/${serverDeployment}`, { as })).json.instance.state
  await until(async () => (await state()) === 'ASLEEP', 'it sleeps')
  for (const headers of [{}, PAGE, { cookie: 'headland_unlock=1.x' }])
    for (const { status } of await everyAnswer(server, headers)) assert.equal(status, 401)
  assert.equal(await upgrade(server), 401)
  assert.equal(await state(), 'ASLEEP')
  assert.equal((await get(server, BASIC, '/awake')).status, 200)
})

test('edges that start anew ask for the password before the control process is there, and know the cookies', async () => {
  const cookie = await unlock(site)
  const file = join(service.dataDir, 'routes.log')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.doesNotMatch(await readFile(file, 'utf8'), new RegExp(PASSWORD))
  const control = service.controlPid()
  process.kill(control, 'SIGSTOP')
  try {
    const before = edgesOf(service.pid)
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await until(() => edgesOf(service.pid).filter((pid) => !before.includes(pid)).length === 2)
    for (const { status } of await everyAnswer(site)) assert.equal(status, 401)
    for (const { status } of await everyAnswer(site, { cookie })) assert.equal(status, 200)
  } finally {
    process.kill(control, 'SIGCONT')
  }
})

test('another password ends the cookies of the one before', async () => {
  const cookie = await unlock(site)
  await change(site, { protection: { password: 'another horse' } })
  for (const { status } of await everyAnswer(site, { cookie })) assert.equal(status, 401)
  assert.equal(await unlock(site), undefined)
  const next = await unlock(site, 'another horse')
  for (const { status } of await everyAnswer(site, { cookie: next })) assert.equal(status, 200)
})

test('addresses hold beside the password, and both end with the protection', async () => {
  const cookie = await unlock(site, 'another horse')
  const changed = await change(site, { protection: { addresses: ['203.0.113.77/24', '2001:DB8::/32'] } })
  assert.deepEqual(changed.protection, { hasPassword: true, addresses: ['203.0.113.0/24', '2001:db8::/32'] })
  const claim = { 'x-forwarded-for': '203.0.113.7' }
  for (const headers of [{}, { cookie }, { cookie, ...claim }])
    for (const { status } of await everyAnswer(site, headers)) assert.equal(status, 403)
  await change(site, { protection: { addresses: ['127.0.0.0/8', '::1'] } })
  assert.equal((await get(site)).status, 401)
  assert.equal((await get(site, { cookie })).status, 200)
  const open = await service.call(`/v1/${site.name}?updateMask=protection`, { method: 'PATCH', as, body: {} })
  await untilDone(service, as, open.json.name)
  for (const { status } of await everyAnswer(site)) assert.equal(status, 200)
})

test('no answer of the API and no log has the password or its hash', async () => {
  const secret = 'never to be seen again'
  const changed = await change(site, { protection: { password: secret } })
  const answers = [changed]
  for (const path of [site.name, `${site.name}?view=FULL`, `${site.name}/operations`])
    answers.push((await service.call(`/v1/${path}`, { as })).json)
  assert.doesNotMatch(JSON.stringify(answers), /never to be seen|scrypt|cookieKey/)
  assert.doesNotMatch(service.log(), /never to be seen|scrypt\$|cookieKey/)
})

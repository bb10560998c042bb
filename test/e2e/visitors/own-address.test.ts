/**
 * Apps and builds that fetch the addresses of sites: their own, by each of its names, and those of others. A real service, real
 * apps, their sandbox.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, test } from 'node:test'
import { steadyAddresses } from '../../support/machine/network.ts'
import { copyOf, reload } from '../../support/service/copies.ts'
import { deploy, type Files, page } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { processesOf } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

/**
 * `/` is a page; `/fetch?url=` shows what the app itself gets there; `/loop` renders by fetching itself; `/sitemap` fetches many
 * pages at a time; `/visitor` shows whom the edge names as the visitor.
 */
const CALLER: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node server.js' } }),
  'build.js': `
    const { writeFileSync } = require('node:fs')
    const read = (url) => fetch(url).then((response) => response.text(), (error) => String(error.cause?.code))
    const urls = (process.env.READ_AT_BUILD ?? '').split(',').filter(Boolean)
    Promise.all(urls.map(read)).then((texts) => writeFileSync('built.json', JSON.stringify(texts)))`,
  'server.js': `
    const { createServer } = require('node:http')
    const { connect } = require('node:net')
    const { readFileSync } = require('node:fs')
    const got = (url) => fetch(url).then(
      async (response) => ({ status: response.status, text: await response.text() }),
      (error) => ({ status: error.cause?.code ?? String(error), text: '' }),
    )
    const reach = ([host, port]) => new Promise((resolve) => {
      const socket = connect({ host, port, timeout: 3000 })
      const settle = (how) => { socket.destroy(); resolve([host, port, how]) }
      socket.once('connect', () => settle('reached'))
      socket.once('timeout', () => settle('late'))
      socket.once('error', ({ code }) => settle(code))
    })
    const server = createServer(async (request, response) => {
      const { pathname, searchParams, origin } = new URL(request.url, 'http://' + request.headers.host)
      response.setHeader('cache-control', 'no-store')
      if (pathname === '/fetch') return response.end(JSON.stringify(await got(searchParams.get('url'))))
      if (pathname === '/visitor') return response.end(request.headers['x-forwarded-for'])
      if (pathname === '/built') return response.end(readFileSync('built.json'))
      if (pathname === '/scan') return response.end(JSON.stringify(await Promise.all(JSON.parse(searchParams.get('places')).map(reach))))
      if (pathname === '/sitemap') {
        const all = await Promise.all(Array.from({ length: 100 }, (_, at) => got(origin + '/page-' + at)))
        return response.end(JSON.stringify(all.map(({ status }) => status)))
      }
      if (pathname === '/chain') {
        const next = searchParams.get('next')
        const { status, text } = await got(next + '/chain?next=' + origin)
        response.statusCode = 500
        return response.end(text || String(status))
      }
      if (pathname === '/loop') {
        const { status, text } = await got(origin + '/loop')
        response.statusCode = 500
        return response.end(status === 508 ? text : text || String(status))
      }
      response.end('a page of ' + request.headers.host)
    })
    server.listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => server.close(() => process.exit()))`,
}

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
/** An edge that was replaced goes on for connections that stay open, and ends with the last of them or after this time. */
const service = await startService(scope, { settings: { HEADLAND_DRAIN_TIMEOUT: '20' } })
const as = await service.login()
const [ours, other, site] = [
  await createEnvironment(service, as),
  await createEnvironment(service, as),
  await createEnvironment(service, as),
]
for (const { name } of [ours, other]) assert.equal((await deploy(service, as, name, CALLER)).error, undefined)
assert.equal((await deploy(service, as, site.name, page('a static site'))).error, undefined)
const { json: isolation } = await service.call('/v1/isolation', { as })
const hasNetworks = !/^that of the machine/.test(isolation.network)
const skip = hasNetworks ? false : isolation.network
const { port } = new URL(ours.url)

type Got = { status: number | string; text: string }

const get = (path: string, at = ours) => siteAnswer(service, at.url, path)
const fetched = async (url: string, at = ours): Promise<Got> =>
  JSON.parse((await get(`/fetch?url=${encodeURIComponent(url)}`, at)).text)

test('an app fetches its own address as visitors write it, and those of other sites', { skip }, async () => {
  assert.deepEqual(await fetched(`${ours.url}/`), { status: 200, text: `a page of ${new URL(ours.url).host}` })
  assert.deepEqual(await fetched(`${other.url}/`), { status: 200, text: `a page of ${new URL(other.url).host}` })
  assert.match((await fetched(`${site.url}/`)).text, /a static site/)
  assert.equal((await fetched(`http://unknown.localhost:${port}/`)).status, 404)
})

test('an app fetches its custom domain, with the next request after it was set', { skip }, async () => {
  const url = `http://www.own-address.test:${port}/`
  assert.notEqual((await fetched(url)).status, 200)
  const body = { domains: ['www.own-address.test'] }
  const set = await service.call(`/v1/${ours.name}/domains:replace`, { method: 'POST', as, body })
  assert.equal(set.status, 200, set.text)
  assert.deepEqual(await fetched(url), { status: 200, text: `a page of www.own-address.test:${port}` })
  assert.equal((await fetched(url, other)).status, 200)
})

test('an app fetches its own address although it is protected, and other apps do not', { skip }, async () => {
  const protect = async (protection: object) => {
    const answer = await service.call(`/v1/${ours.name}`, { method: 'PATCH', as, body: { protection } })
    assert.equal(answer.status, 200, answer.text)
  }
  await protect({ addresses: ['127.0.0.1', '::1'], password: 'correct horse' })
  const basic = { authorization: `Basic ${Buffer.from(':correct horse').toString('base64')}` }
  const path = `/fetch?url=${encodeURIComponent(`${ours.url}/`)}`
  try {
    await until(async () => (await siteAnswer(service, ours.url)).status === 401)
    const { text } = await siteAnswer(service, ours.url, path, basic)
    assert.deepEqual(JSON.parse(text), { status: 200, text: `a page of ${new URL(ours.url).host}` })
    assert.equal((await fetched(`${ours.url}/`, other)).status, 403)
  } finally {
    await protect({ addresses: [], password: null })
  }
  await until(async () => (await siteAnswer(service, ours.url)).status === 200)
})

test('the app is the visitor of such a request, whatever it says', { skip }, async () => {
  const { text } = await fetched(`${other.url}/visitor`)
  assert.match(text, /^10\.\d+\.\d+\.\d+$/)
  assert.notEqual(text, (await fetched(`${ours.url}/visitor`, other)).text)
})

test('a build reads sites, its own as it is live', { skip }, async () => {
  const shellVariables = [{ key: 'READ_AT_BUILD', value: [`${ours.url}/`, `${site.url}/`].join() }]
  const variables = await service.call(`/v1/${ours.name}`, { method: 'PATCH', as, body: { shellVariables } })
  assert.equal(variables.status, 200, variables.text)
  const { error } = await deploy(service, as, ours.name, { ...CALLER, 'version.txt': 'two' })
  assert.equal(error, undefined, JSON.stringify(error))
  const [own, stat] = JSON.parse((await get('/built')).text)
  assert.equal(own, `a page of ${new URL(ours.url).host}`)
  assert.match(stat, /a static site/)
})

test('of the machine an app reaches the edge alone: no API, no service port of others, no other app', {
  skip,
}, async () => {
  const addresses = steadyAddresses()
  const apps = [(await fetched(`${other.url}/visitor`)).text, (await fetched(`${ours.url}/visitor`, other)).text]
  const api = Number(new URL(service.api).port)
  const places = [
    ...addresses.flatMap((host) => [api, 22, 80, 443, Number(port)].map((closed) => [host, closed])),
    ...apps.map((host) => [host, 8080]),
  ]
  const { text } = await get(`/scan?places=${encodeURIComponent(JSON.stringify(places))}`)
  const reached = (JSON.parse(text) as [string, number, string][]).filter(([, , how]) => how === 'reached')
  // Its own address is one of the two.
  const [self] = apps
  assert.deepEqual(
    reached.filter(([host]) => host !== self).map(([, at]) => at),
    addresses.map(() => Number(port)),
  )
  assert.equal((await fetched(`${service.api}/healthz`)).status, 'ECONNREFUSED')
})

test('a page that fetches itself without end is answered, and the log of the app says why', { skip }, async () => {
  const { status, text } = await get('/loop', other)
  assert.equal(status, 500)
  assert.match(text, /Loop detected/)
  await until(async () => {
    const { text: log } = await service.call(`/v1/${other.name}/logs`, { as })
    return /fetches its own address.*508 Loop Detected/.test(log)
  }, 'the log says why')
  // The app and the edge go on.
  assert.equal((await get('/', other)).status, 200)
})

test('two sites that fetch each other without end come to an end, and go on', { skip }, async () => {
  const { status, text } = await get(`/chain?next=${other.url}`)
  assert.equal(status, 500)
  assert.match(text, /Loop detected/)
  for (const at of [ours, other]) assert.equal((await get('/', at)).status, 200)
})

test('a page that fetches a hundred others at a time is no loop', { skip }, async () => {
  const statuses: number[] = JSON.parse((await get('/sitemap', other)).text)
  assert.deepEqual(
    statuses,
    Array.from({ length: 100 }, () => 200),
  )
})

test('a site that sleeps is woken by an app as by a visitor, with several edges', { skip }, async (t) => {
  const sleepy = await startService(t, { settings: { HEADLAND_IDLE_TIMEOUT: '1', HEADLAND_EDGES: '2' } })
  const login = await sleepy.login()
  const [one, two] = [await createEnvironment(sleepy, login), await createEnvironment(sleepy, login)]
  for (const { name } of [one, two]) assert.equal((await deploy(sleepy, login, name, CALLER)).error, undefined)
  await until(async () => {
    const { text } = await sleepy.call(`/v1/${two.name}/logs`, { as: login })
    return /sleep/i.test(text)
  }, 'the app sleeps')
  const { text } = await siteAnswer(sleepy, one.url, `/fetch?url=${encodeURIComponent(`${two.url}/`)}`)
  assert.equal(JSON.parse(text).text, `a page of ${new URL(two.url).host}`)
})

test('the address is reached after the edge and the agent were killed', { skip }, async () => {
  for (const role of ['edge', 'agent'] as const) {
    const before = processesOf(service.pid)[role]
    assert.ok(before)
    process.kill(before, 'SIGKILL')
    await until(() => processesOf(service.pid)[role] !== before, `another ${role} runs`)
    await until(async () => (await get('/')).status === 200, 'the site answers')
    const path = `/fetch?url=${encodeURIComponent(`${ours.url}/`)}`
    // Until the app runs again, the answer is a page of the edge.
    await until(async () => /^{"status":200,/.test((await get(path)).text), `after the death of the ${role}`)
  }
})

test('an app that goes on during a reload reaches its address, also by its custom domain', { skip }, async () => {
  const next = await copyOf(scope, '9.9.9')
  const { edge } = processesOf(service.pid)
  await reload(next, service)
  assert.equal((await fetched(`${ours.url}/`)).status, 200)
  assert.equal((await fetched(`http://www.own-address.test:${port}/`)).status, 200)
  // The next version of the app has its network under the new agent.
  assert.equal((await deploy(service, as, ours.name, { ...CALLER, 'version.txt': 'three' })).error, undefined)
  assert.equal((await fetched(`${ours.url}/`)).status, 200)
  await until(() => !existsSync(`/proc/${edge}`), 'the old edge has ended')
})

/**
 * How jobs reach the sites of the service, and that they reach nothing else of the machine by it. As root, with real namespaces
 * and rules; otherwise these tests are skipped. A listener at the gateway stands for the edge.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { realpath } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, test } from 'node:test'
import { run } from '../../../src/engines/network/commands.ts'
import { hasTable } from '../../../src/engines/network/firewall/table.ts'
import { SITE_CALLS } from '../../../src/engines/network/loopback.ts'
import { idOf, tableOf } from '../../../src/engines/network/names.ts'
import type { SiteAccess } from '../../../src/engines/network/sites.ts'
import type { Scope } from '../../support/folder.ts'
import {
  callFrom,
  open,
  reasonToSkip,
  runJob,
  startJob,
  startListener,
  startNeighbour,
  startResolver,
  steadyAddresses,
} from '../../support/machine/network.ts'
import { until } from '../../support/until.ts'

const skip = (await reasonToSkip({ after })) ?? false
assert.ok(process.getuid?.() !== 0 || !skip, String(skip))

/** Answers each request with the address of the caller and the name that it asked for. */
async function listenAs(scope: Scope, host: string, name = 'edge'): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (chunk) => {
      const asked = /\r\nhost: ([^\r]*)/i.exec(String(chunk))?.[1]
      const body = [name, socket.remoteAddress, asked].join(' ')
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`)
    })
  })
  server.listen({ host, port: 0 })
  await once(server, 'listening')
  scope.after(() => server.close())
  return (server.address() as AddressInfo).port
}

const SITES: readonly string[] = ['www.shop.test', 'blog.example.test']

/** Networks with an edge, which visitors reach at this port. */
async function openWithEdge(scope: Scope, access: Partial<SiteAccess> = {}, options: Parameters<typeof open>[1] = {}) {
  // No program of the machine listens on it: a job that reaches it reaches the edge by the rules.
  const port = 18_081
  const sites = { ports: [port], domain: 'localhost', ...access }
  const networks = await open(scope, { sites, ...options })
  const edge = await listenAs(scope, networks.gateway)
  networks.findSites(async (host) => SITES.includes(host))
  await networks.openEdge(edge)
  return { networks, port, edge }
}

const FETCH = `
const read = (url) => fetch(url).then((response) => response.text(), (error) => error.cause?.code ?? error.message)
Promise.all(values.urls.map(read)).then((texts) => console.log(JSON.stringify(texts)))
`

const fetchFrom = async (view: Parameters<typeof runJob>[0], urls: readonly string[]): Promise<string[]> =>
  JSON.parse(await runJob(view, FETCH, { urls }))

test('apps and builds reach the edge under the names of sites, and it sees their address', { skip }, async (t) => {
  const { networks, port } = await openWithEdge(t)
  const app = await networks.open('app', { callsService: true, port: 8080 })
  const build = await networks.open('build', { isRecorded: true })
  const hosts = [`one.localhost:${port}`, `localhost:${port}`, ...SITES.map((name) => `${name}:${port}`)]
  for (const view of [app, build]) {
    const urls = hosts.map((host) => `http://${host}/`)
    assert.deepEqual(
      await fetchFrom(view, urls),
      hosts.map((host) => `edge ${view.address} ${host}`),
    )
    // Names that are no sites are asked of the machine's resolvers, as before.
    assert.match((await fetchFrom(view, [`http://other.shop.test:${port}/`]))[0] ?? '', /^(ENOTFOUND|EAI_AGAIN)$/)
  }
})

test('programs that resolve localhost by themselves reach it as well', { skip }, async (t) => {
  const { networks, port } = await openWithEdge(t)
  const view = await networks.open('app', { callsService: true, port: 8080 })
  const script = `
    const { execFileSync } = require('node:child_process')
    console.log(execFileSync('/usr/bin/curl', ['-s', '--noproxy', '*', values.url], { encoding: 'utf8' }))`
  const host = `one.localhost:${port}`
  assert.equal(await runJob(view, script, { url: `http://${host}/` }), `edge ${view.address} ${host}\n`)
})

test('an app still reaches what listens on its own loopback, and is called there', { skip }, async (t) => {
  const { networks, port } = await openWithEdge(t)
  const view = await networks.open('app', { callsService: true, port: 8080 })
  const script = `
    const { createServer, connect } = require('node:net')
    createServer((socket) => socket.end('own')).listen(4000, '127.0.0.1', () => {
      connect(4000, '127.0.0.1').setEncoding('utf8').once('data', (text) => { console.log(text); process.exit() })
    })`
  assert.equal(await runJob(view, script), 'own\n')
  const server = await startJob(
    view,
    `require('node:net').createServer((socket) => socket.end('hello')).listen(8080, '127.0.0.1', () => console.log('up'))`,
  )
  t.after(() => server.stop(0))
  await server.printed
  const [text] = await once(connect(8080, view.address).setEncoding('utf8'), 'data')
  assert.equal(text, 'hello')
  assert.deepEqual(await callFrom(view, { edge: { host: '127.0.0.1', port } }), { edge: 'reached' })
})

test('at every address of the machine only the ports of visitors are open, and they lead to the edge', {
  skip,
}, async (t) => {
  const { networks, port, edge } = await openWithEdge(t)
  const [view, other] = [await networks.open('app', { callsService: true, port: 8080 }), await networks.open('other')]
  const [everywhere, loopback] = [await startListener(t), await startListener(t, '127.0.0.1')]
  const inApp = await listenAs(t, networks.gateway, 'service')
  await networks.openService(inApp)
  const neighbours = await startJob(
    other,
    `require('node:net').createServer(() => {}).listen(8080, '0.0.0.0', () => console.log('up'))`,
  )
  t.after(() => neighbours.stop(0))
  await neighbours.printed
  const addresses = [networks.gateway, ...steadyAddresses()]
  assert.ok(addresses.includes('127.0.0.1') && addresses.length > 2)
  const texts = await fetchFrom(
    view,
    addresses.map((host) => `http://${host}:${port}/`),
  )
  assert.deepEqual(
    new Set(texts.map((text) => text.split(' ').slice(0, 2).join(' '))),
    new Set([`edge ${view.address}`]),
  )
  // A scan around everything that listens, at every address.
  const ports = new Set([everywhere.port, loopback.port, 22, 80, 443, 8080, 8081, port - 1, port + 1])
  ports.delete(inApp)
  const places = addresses.flatMap((host) => [...ports].map((closed) => ({ host, port: closed })))
  const named = Object.fromEntries(places.map((place) => [`${place.host}:${place.port}`, place]))
  const found = Object.entries(await callFrom(view, { ...named, other: { host: other.address, port: 8080 } }))
  assert.deepEqual(
    found.filter(([, how]) => how === 'reached'),
    [],
  )
  assert.deepEqual([everywhere.calls, loopback.calls], [0, 0])
  // The socket of the edge is for jobs alone.
  const neighbour = await startNeighbour(t)
  assert.deepEqual(await neighbour.call({ edge: { host: networks.gateway, port: edge } }), { edge: 'late' })
  const stranger = await (await open(t)).open('app', { callsService: true })
  // Two services of the machine refuse it: its own with a reset, the other without a word. Rules that were loaded last go first.
  const { edge: answer } = await callFrom(stranger, { edge: { host: networks.gateway, port: edge } })
  assert.match(String(answer), /^(ECONNREFUSED|late)$/)
})

test('the record of a build names the site that it called, and does not call it refused', { skip }, async (t) => {
  const { networks, port } = await openWithEdge(t)
  for (const name of ['one.localhost', 'www.shop.test']) {
    const build = await networks.open('build', { isRecorded: true })
    await fetchFrom(build, [`http://${name}:${port}/`])
    const [contact, ...others] = await build.contacts()
    assert.deepEqual(others, [])
    assert.deepEqual(contact, {
      host: name,
      protocol: 'tcp',
      port,
      addresses: [networks.gateway],
      isRefused: false,
      outcome: 'CONNECTED',
    })
  }
})

const MANY = `
const { connect } = require('node:net')
const found = { reached: 0, refused: 0 }
const calls = Array.from({ length: values.count }, () => new Promise((resolve) => {
  const socket = connect(values)
  socket.once('connect', () => { found.reached++; resolve() })
  socket.once('error', ({ code }) => { if (code === 'ECONNREFUSED') found.refused++; resolve() })
}))
Promise.all(calls).then(() => { console.log(JSON.stringify(found)); process.exit() })
`

test('a job has a bounded number of connections to the edge, by whatever address, and others are not affected', {
  skip,
}, async (t) => {
  const { networks, port } = await openWithEdge(t)
  for (const host of ['127.0.0.1', networks.gateway]) {
    const greedy = await networks.open('app', { callsService: true, port: 8080 })
    const found = JSON.parse(await runJob(greedy, MANY, { host, port, count: SITE_CALLS + 40 }))
    assert.deepEqual(found, { reached: SITE_CALLS, refused: 40 }, host)
    const other = await networks.open('app', { callsService: true, port: 8080 })
    assert.deepEqual(await callFrom(other, { edge: { host, port } }), { edge: 'reached' })
  }
})

test('rules that another program flushed are restored with the edge, and its port may change', { skip }, async (t) => {
  const { networks, port } = await openWithEdge(t)
  const id = idOf(await realpath(networks.folder))
  await run('nft', ['delete', 'table', 'inet', tableOf(id)])
  await until(() => hasTable(id), 'the rules are back')
  const view = await networks.open('app', { callsService: true, port: 8080 })
  const url = `http://one.localhost:${port}/`
  assert.match((await fetchFrom(view, [url]))[0] ?? '', /^edge /)
  await networks.openEdge(await listenAs(t, networks.gateway, 'next-edge'))
  assert.match((await fetchFrom(view, [url]))[0] ?? '', /^next-edge /)
})

test('without an edge, the ports of visitors are closed like all others', { skip }, async (t) => {
  const networks = await open(t, { sites: { ports: [18_081], domain: 'localhost' } })
  const view = await networks.open('app', { callsService: true, port: 8080 })
  const places = { loopback: { host: '127.0.0.1', port: 18_081 }, gateway: { host: networks.gateway, port: 18_081 } }
  assert.deepEqual(await callFrom(view, places), { loopback: 'ECONNREFUSED', gateway: 'ECONNREFUSED' })
})

test('where a proxy accepts TLS at an address of the machine that DNS has for the domain, jobs reach it there and nowhere else', {
  skip,
}, async (t) => {
  const { machine } = await startNeighbour(t)
  const [proxy, elsewhere] = [await startListener(t, machine), await startListener(t, machine)]
  const resolverFile = await startResolver(t, {
    'headland-check.sites.test': machine,
    'one.sites.test': machine,
    'tenant.test': '127.0.0.1',
  })
  const access = { domain: 'sites.test', tlsPort: proxy.port }
  const { networks, port } = await openWithEdge(t, access, { resolverFile })
  const view = await networks.open('app', { callsService: true, port: 8080 })
  const places = {
    proxy: { host: 'one.sites.test', port: proxy.port },
    elsewhere: { host: 'one.sites.test', port: elsewhere.port },
    // The same port at other addresses of the machine.
    gateway: { host: networks.gateway, port: proxy.port },
    edge: { host: 'one.sites.test', port },
  }
  assert.deepEqual(await callFrom(view, places), {
    proxy: 'reached',
    elsewhere: 'ECONNREFUSED',
    gateway: 'ECONNREFUSED',
    edge: 'reached',
  })
})

test('addresses of the operator go before those of DNS', { skip }, async (t) => {
  const { machine } = await startNeighbour(t)
  const proxy = await startListener(t)
  const resolverFile = await startResolver(t, { 'headland-check.sites.test': machine })
  const access = { domain: 'sites.test', tlsPort: proxy.port, publicAddresses: ['203.0.113.9', '2001:db8::9'] }
  const { networks } = await openWithEdge(t, access, { resolverFile })
  const view = await networks.open('app', { callsService: true, port: 8080 })
  assert.deepEqual(await callFrom(view, { proxy: { host: machine, port: proxy.port } }), { proxy: 'ECONNREFUSED' })
})

test('what the operator allows by its port goes before the edge', { skip }, async (t) => {
  const { machine } = await startNeighbour(t)
  const cms = await listenAs(t, machine, 'cms')
  const settings = { range: '10.201.0.0/16', blocked: [], allowed: [`${machine}:${cms}`] }
  const { networks } = await openWithEdge(t, { ports: [18_081, cms] }, { settings })
  const view = await networks.open('app', { callsService: true, port: 8080 })
  const urls = [`http://${machine}:${cms}/`, `http://${networks.gateway}:${cms}/`]
  const found = (await fetchFrom(view, urls)).map((text) => text.split(' ')[0])
  assert.deepEqual(found, ['cms', 'edge'])
})

test('apps are called at a port that visitors do not use', { skip }, async (t) => {
  assert.equal((await open(t)).appPort, 8080)
  assert.equal((await open(t, { sites: { ports: [8080, 8082], domain: 'localhost' } })).appPort, 8083)
})

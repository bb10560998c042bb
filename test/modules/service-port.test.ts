/**
 * The one port of this machine that apps reach. As root, with real namespaces and rules; otherwise these tests are
 * skipped.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { realpath } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, test } from 'node:test'
import { run } from '../../src/engines/network/commands.ts'
import { hasTable } from '../../src/engines/network/firewall/table.ts'
import { idOf, interfacesOf, tableOf } from '../../src/engines/network/names.ts'
import type { Scope } from '../support/folder.ts'
import { callFrom, open, reasonToSkip, runJob, startListener, startNeighbour } from '../support/machine/network.ts'
import { until } from '../support/until.ts'

const skip = (await reasonToSkip({ after })) ?? false
assert.ok(process.getuid?.() !== 0 || !skip, String(skip))

/** Listens as the service does for apps, and answers with the address of the caller. */
async function listenAt(scope: Scope, host: string): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => undefined).write(String(socket.remoteAddress)))
  server.listen({ host, port: 0 })
  await once(server, 'listening')
  scope.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Whether a process of root on this machine can connect. */
function reachesFromHere(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 500 })
    for (const event of ['connect', 'timeout', 'error']) {
      socket.once(event, () => {
        socket.destroy()
        resolve(event === 'connect')
      })
    }
  })
}

test('an app reaches the service at its port and at no other; a build does not', { skip }, async (t) => {
  const networks = await open(t)
  const { gateway } = networks
  const port = await listenAt(t, gateway)
  const app = await networks.open('app', { callsService: true })
  const service = { host: gateway, port }
  assert.deepEqual(await callFrom(app, { service }), { service: 'ECONNREFUSED' })

  await networks.openService(port)
  const elsewhere = await startListener(t)
  const places = { service, elsewhere: { host: gateway, port: elsewhere.port } }
  assert.deepEqual(await callFrom(app, places), { service: 'reached', elsewhere: 'ECONNREFUSED' })
  const build = await networks.open('build', { isRecorded: true })
  assert.deepEqual(await callFrom(build, places), { service: 'ECONNREFUSED', elsewhere: 'ECONNREFUSED' })
  const [contact] = (await build.contacts()).filter((one) => one.port === port)
  assert.equal(contact?.isRefused, true)
})

test('the service sees the address that the app has, and no other', { skip }, async (t) => {
  const networks = await open(t)
  const port = await listenAt(t, networks.gateway)
  await networks.openService(port)
  const view = await networks.open('app', { callsService: true })
  const script = `require('node:net').connect(values).once('data', (chunk) => { console.log(String(chunk)); process.exit() })`
  assert.equal(await runJob(view, script, { host: networks.gateway, port }), `${view.address}\n`)
})

test('only apps of the service reach it: no neighbour, no user of this machine, no app of another service', {
  skip,
}, async (t) => {
  const networks = await open(t)
  const port = await listenAt(t, networks.gateway)
  const service = { host: networks.gateway, port }
  const neighbour = await startNeighbour(t)
  assert.deepEqual(await neighbour.call({ service }), { service: 'reached' })
  assert.equal(await reachesFromHere(networks.gateway, port), true)
  await networks.openService(port)
  assert.equal(await reachesFromHere(networks.gateway, port), false)
  assert.deepEqual(await neighbour.call({ service }), { service: 'late' })
  const other = await open(t)
  await other.openService(await listenAt(t, other.gateway))
  const stranger = await other.open('app', { callsService: true })
  assert.deepEqual(await callFrom(stranger, { service }), { service: 'ECONNREFUSED' })
})

test('rules that another program flushed are restored with the port', { skip }, async (t) => {
  const networks = await open(t)
  const port = await listenAt(t, networks.gateway)
  await networks.openService(port)
  const id = idOf(await realpath(networks.folder))
  await run('nft', ['delete', 'table', 'inet', tableOf(id)])
  await until(() => hasTable(id), 'the rules are back')
  const [app, build] = [await networks.open('app', { callsService: true }), await networks.open('build')]
  const service = { host: networks.gateway, port }
  assert.deepEqual(await callFrom(app, { service }), { service: 'reached' })
  assert.deepEqual(await callFrom(build, { service }), { service: 'ECONNREFUSED' })
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

test('an app has a bounded number of connections to it, and other apps are not affected', { skip }, async (t) => {
  const networks = await open(t)
  const port = await listenAt(t, networks.gateway)
  await networks.openService(port)
  const [greedy, other] = await Promise.all([1, 2].map(() => networks.open('app', { callsService: true })))
  assert.ok(greedy && other)
  const place = { host: networks.gateway, port }
  assert.deepEqual(JSON.parse(await runJob(greedy, MANY, { ...place, count: 290 })), { reached: 256, refused: 34 })
  assert.deepEqual(await callFrom(other, { place }), { place: 'reached' })
})

test('the longest name of an interface is one that the kernel takes', () => {
  assert.ok(`${interfacesOf('abcdef').callers}1023`.length <= 15)
})

/**
 * The service calls an app from the app's own loopback, and that opens nothing else. As root, with real namespaces and
 * rules; otherwise these tests are skipped.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { run } from '../../src/engines/network/commands.ts'
import { OWN_CALLS } from '../../src/engines/network/loopback.ts'
import type { NetworkNamespace } from '../../src/engines/network/namespace.ts'
import type { Scope } from '../support/folder.ts'
import {
  CALL,
  callFrom,
  open,
  reasonToSkip,
  runJob,
  startJob,
  startListener,
  startNeighbour,
} from '../support/machine/network.ts'
import { until } from '../support/until.ts'

const skip = (await reasonToSkip({ after })) ?? false
assert.ok(process.getuid?.() !== 0 || !skip, String(skip))

const PORT = 8080

/** Answers with the address of the caller and the address that was called. */
const ANSWER_WITH_CALLER = `
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => {})
  socket.end([socket.remoteAddress, socket.localAddress].join(' '))
})
server.listen(values, () => console.log('listens'))
`

async function startApp(scope: Scope, view: NetworkNamespace, listen: { host?: string; port: number }) {
  const app = await startJob(view, ANSWER_WITH_CALLER, listen)
  scope.after(() => app.stop(0))
  await app.printed
  assert.match(app.text(), /^listens/)
  return app
}

/** The reply to a process of root on this machine, or the code of the error. */
function replyOf(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ host, port, timeout: 30_000 })
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    socket.once('timeout', () => socket.destroy(Object.assign(new Error(), { code: 'late' })))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code)))
    socket.once('end', () => resolve(text))
  })
}

/** As root of the machine in the view: more than any tenant has. */
function asRoot(view: NetworkNamespace, ...command: string[]): Promise<string> {
  const [file = '', ...args] = view.around(command)
  return run(file, args)
}

const callAsRoot = async (view: NetworkNamespace, places: Parameters<typeof callFrom>[1]) =>
  JSON.parse(await asRoot(view, process.execPath, '-e', `const values = ${JSON.stringify(places)}\n${CALL}`))

/** The machine's end of a view's cable. */
async function linkOf(view: NetworkNamespace): Promise<string> {
  const [route] = JSON.parse(await run('ip', ['-json', 'route', 'get', view.address])) as { dev: string }[]
  return route?.dev ?? ''
}

/** A machine that routes loopback addresses, as some container set-ups require, drops fewer packets by itself. */
const routeLoopback = async (link: string): Promise<void> =>
  writeFile(`/proc/sys/net/ipv4/conf/${link}/route_localnet`, '1')

test('an app is called from its own loopback, whatever it listens on', { skip }, async (t) => {
  const networks = await open(t)
  const mapped = '::ffff:127.0.0.1'
  for (const [host, address] of [
    ['0.0.0.0', '127.0.0.1'],
    ['127.0.0.1', '127.0.0.1'],
    ['::', mapped],
    [undefined, mapped],
  ] as const) {
    const view = await networks.open('app', { callsService: true, port: PORT })
    const app = await startApp(t, view, { port: PORT, ...(host === undefined ? {} : { host }) })
    assert.equal(await replyOf(view.address, PORT), `${address} ${address}`, `listening on ${host}`)
    await app.stop(0)
    await view.close()
  }
})

test('a caller keeps its port, by which both ends recognise a connection that has just ended', { skip }, async (t) => {
  const view = await (await open(t)).open('app', { callsService: true, port: PORT })
  const script = `
    const server = require('node:net').createServer((socket) => socket.end(String(socket.remotePort)))
    server.listen(values, () => console.log('listens'))`
  const app = await startJob(view, script, { host: '0.0.0.0', port: PORT })
  t.after(() => app.stop(0))
  await app.printed
  for (let count = 0; count < 100; count++) {
    const socket = connect({ host: view.address, port: PORT }).setEncoding('utf8')
    const [text] = await once(socket, 'data')
    assert.equal(text, String(socket.localPort))
    socket.destroy()
  }
  await app.stop(0)
  // Its sockets close a moment after it.
  await until(async () => (await replyOf(view.address, PORT)) === 'ECONNREFUSED')
})

test('an app that calls itself is not mistaken for the service, nor the service for the app', { skip }, async (t) => {
  const view = await (await open(t)).open('app', { callsService: true, port: PORT })
  const first = randomInt(20_000, 30_000)
  const script = `
    const { connect, createServer } = require('node:net')
    const call = (localPort) => new Promise((resolve, reject) => {
      const socket = connect({ ...values, localPort }).setEncoding('utf8').on('error', reject)
      socket.write('own')
      socket.once('data', resolve)
    })
    const callFrom = (first) => Promise.all([0, 1, 2, 3].map((at) => call(first + at)))
    const server = createServer((socket) => {
      socket.setEncoding('utf8').on('error', () => {}).on('data', async (text) => {
        socket.write(text === 'call yourself' ? (await callFrom(values.first + 4)).join() : text)
      })
    })
    server.listen(values, async () => console.log((await callFrom(values.first)).join()))`
  const app = await startJob(view, script, { port: PORT, host: '127.0.0.1', first })
  t.after(() => app.stop(0))
  await app.printed
  assert.equal(app.text(), 'own,own,own,own\n')
  // From the ports that the app has used, and from those that it uses next.
  const callers = Array.from({ length: 8 }, (_, at) => {
    const socket = connect({ host: view.address, port: PORT, localPort: first + at }).setEncoding('utf8')
    t.after(() => socket.destroy())
    return (text: string): Promise<string> => {
      socket.write(text)
      return new Promise((resolve, reject) => socket.once('data', resolve).once('error', reject))
    }
  })
  const sayAll = () => Promise.all(callers.map((say, at) => say(`service ${at}`)))
  const expected = callers.map((_, at) => `service ${at}`)
  assert.deepEqual(await sayAll(), expected)
  assert.equal(await callers[0]?.('call yourself'), 'own,own,own,own')
  assert.deepEqual(await sayAll(), expected)
})

test('other listeners on the loopback of an app are not reached from outside', { skip }, async (t) => {
  const view = await (await open(t)).open('app', { callsService: true, port: PORT })
  await startApp(t, view, { host: '127.0.0.1', port: 9229 })
  assert.equal(await replyOf(view.address, 9229), 'ECONNREFUSED')
})

test('only the service reaches an app by its loopback: no other app, no neighbour, no user', { skip }, async (t) => {
  const neighbour = await startNeighbour(t)
  const networks = await open(t)
  const [one, other] = [
    await networks.open('app', { callsService: true, port: PORT }),
    await networks.open('app', { callsService: true, port: PORT }),
  ]
  await startApp(t, other, { host: '127.0.0.1', port: PORT })
  const place = { host: other.address, port: PORT }
  for (const found of [await callFrom(one, { place }), await neighbour.call({ place })]) {
    assert.notEqual(found.place, 'reached')
  }
  const asNobody = ['--reuid', '65534', '--regid', '65534', '--clear-groups', 'bash', '-c', 'exec 3<>/dev/tcp/$0/$1']
  await assert.rejects(run('setpriv', [...asNobody, other.address, String(PORT)]), /refused/i)
  assert.equal(await replyOf(other.address, PORT), '127.0.0.1 127.0.0.1')
})

test('an app that spoofs the address of loopback or of the gateway reaches no other app, even with the rights to try', {
  skip,
}, async (t) => {
  const networks = await open(t)
  const [one, other] = [
    await networks.open('app', { callsService: true, port: PORT }),
    await networks.open('app', { callsService: true, port: PORT }),
  ]
  const app = await startApp(t, other, { host: '0.0.0.0', port: PORT })
  for (const view of [one, other]) await routeLoopback(await linkOf(view))
  await asRoot(one, 'nft', 'flush', 'ruleset')
  await asRoot(one, 'ip', 'addr', 'add', `${networks.gateway}/32`, 'dev', 'lo')
  await asRoot(one, 'ip', 'route', 'del', 'local', networks.gateway, 'dev', 'lo', 'table', 'local')
  const place = { host: other.address, port: PORT }
  const found = await callAsRoot(one, {
    loopback: { ...place, localAddress: '127.0.0.1' },
    gateway: { ...place, localAddress: networks.gateway },
  })
  assert.ok(!Object.values(found).includes('reached'), JSON.stringify(found))
  assert.equal(app.text(), 'listens\n')
})

test('no packet with a loopback address leaves a view', { skip }, async (t) => {
  const networks = await open(t)
  const { gateway } = networks
  const view = await networks.open('app', { callsService: true, port: PORT })
  const listener = await startListener(t, gateway)
  await networks.openService(listener.port)
  const link = await linkOf(view)
  const table = `seen_${link.replaceAll('-', '_')}`
  t.after(() => run('nft', ['delete', 'table', 'netdev', table]))
  const rules = `table netdev ${table} {
    counter forged { }
    chain seen {
      type filter hook ingress device "${link}" priority 0; policy accept;
      ip saddr 127.0.0.0/8 counter name forged
      ip daddr 127.0.0.0/8 counter name forged
    }
  }`
  await run('nft', ['-f', '-'], rules)
  const seen = async () =>
    Number(/packets (\d+)/.exec(await run('nft', ['list', 'counter', 'netdev', table, 'forged']))?.[1])
  const places = { forged: { host: gateway, port: listener.port, localAddress: '127.0.0.1' } }
  assert.deepEqual(await callFrom(view, places), { forged: 'late' })
  assert.deepEqual([await seen(), listener.calls], [0, 0])

  // As the packets of a socket that is bound to the veth device would be routed.
  const loopback = await startListener(t, '127.0.0.1')
  await asRoot(view, 'ip', 'route', 'add', '127.0.0.9/32', 'via', gateway, 'dev', 'eth0', 'table', '9')
  await asRoot(view, 'ip', 'rule', 'add', 'pref', '0', 'to', '127.0.0.9', 'lookup', '9')
  await asRoot(view, 'ip', 'rule', 'add', 'pref', '1', 'lookup', 'local')
  await asRoot(view, 'ip', 'rule', 'del', 'pref', '0', 'lookup', 'local')
  const outwards = { host: '127.0.0.9', port: loopback.port }
  assert.deepEqual(await callFrom(view, { outwards }), { outwards: 'late' })
  assert.deepEqual([await seen(), loopback.calls], [0, 0])

  await asRoot(view, 'nft', 'flush', 'ruleset')
  await callFrom(view, { ...places, outwards })
  assert.ok((await seen()) >= 2, 'without the rules such packets leave, so the test can detect them')
  assert.deepEqual([listener.calls, loopback.calls], [0, 0])
})

test("the machine's loopback stays shut to a view, even where the machine routes loopback addresses", {
  skip,
}, async (t) => {
  const networks = await open(t)
  const { gateway } = networks
  const view = await networks.open('app', { callsService: true, port: PORT })
  const [loopback, service] = [await startListener(t, '127.0.0.1'), await startListener(t, gateway)]
  await networks.openService(service.port)
  await routeLoopback(await linkOf(view))
  await asRoot(view, 'nft', 'flush', 'ruleset')
  await asRoot(view, 'ip', 'addr', 'add', '127.0.0.2/32', 'dev', 'eth0')
  await asRoot(view, 'ip', 'route', 'del', 'local', '127.0.0.0/8', 'dev', 'lo', 'table', 'local')
  await asRoot(view, 'ip', 'route', 'del', 'local', '127.0.0.1', 'dev', 'lo', 'table', 'local')
  await asRoot(view, 'ip', 'route', 'add', '127.0.0.1/32', 'via', gateway, 'dev', 'eth0')
  const found = await callAsRoot(view, {
    loopback: { host: '127.0.0.1', port: loopback.port, localAddress: view.address },
    bothForged: { host: '127.0.0.1', port: loopback.port, localAddress: '127.0.0.2' },
    service: { host: gateway, port: service.port, localAddress: '127.0.0.2' },
  })
  assert.ok(!Object.values(found).includes('reached'), JSON.stringify(found))
  assert.deepEqual([loopback.calls, service.calls], [0, 0])
})

test('what an app does on its own loopback takes few places in the kernel’s table of connections', {
  skip,
}, async (t) => {
  const view = await (await open(t)).open('app', { callsService: true, port: PORT })
  const tracked = async () => Number(await asRoot(view, 'cat', '/proc/sys/net/netfilter/nf_conntrack_count'))
  // Each job runs until it is stopped, and keeps its connections open.
  const script = `
    const { connect, createServer } = require('node:net')
    const udp = require('node:dgram').createSocket('udp4')
    const server = createServer((socket) => socket.on('error', () => {}).resume())
    const call = () => new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: values.port })
      for (const event of ['connect', 'error']) socket.once(event, () => resolve(event === 'connect' ? 1 : 0))
    })
    const send = (port) => new Promise((resolve) => udp.send('x', port, '127.0.0.1', resolve))
    server.listen({ host: '127.0.0.1', port: values.port }, async () => {
      let open = 0
      for (let count = 0; count < values.calls; count++) open += await call()
      for (let port = 1; port <= 1000; port++) await send(port)
      console.log(open)
    })`
  const local = await startJob(view, script, { port: PORT + 1, calls: 500 })
  t.after(() => local.stop(0))
  await local.printed
  assert.deepEqual([local.text(), await tracked()], ['500\n', 0])
  const own = await startJob(view, script, { port: PORT, calls: OWN_CALLS + 200 })
  t.after(() => own.stop(0))
  await own.printed
  assert.deepEqual([own.text(), await tracked()], [`${OWN_CALLS}\n`, OWN_CALLS])
  // The service can still connect.
  const socket = connect({ host: view.address, port: PORT })
  t.after(() => socket.destroy())
  await once(socket, 'connect')
})

test('a job cannot see or change how it is called', { skip }, async (t) => {
  const view = await (await open(t)).open('app', { callsService: true, port: PORT })
  const script = `
    const { execFileSync } = require('node:child_process')
    const { readFileSync, writeFileSync } = require('node:fs')
    const attempt = (what) => { try { what(); return 'done' } catch (error) { return error.code ?? 'failed' } }
    console.log(JSON.stringify([
      attempt(() => execFileSync('/usr/sbin/nft', ['list', 'ruleset'], { stdio: ['ignore', 'ignore', 'pipe'] })),
      attempt(() => writeFileSync('/proc/sys/net/ipv4/conf/eth0/route_localnet', '0')),
      attempt(() => readFileSync('/proc/net/nf_conntrack')),
    ]))`
  const outcomes: string[] = JSON.parse(await runJob(view, script))
  assert.ok(!outcomes.includes('done'), outcomes.join())
})

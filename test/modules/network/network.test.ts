/**
 * What a job reaches in its view, and what reaches a job. As root, with real namespaces and rules; otherwise these
 * tests are skipped.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readlink, realpath } from 'node:fs/promises'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { run } from '../../../src/engines/network/commands.ts'
import { contactKey, newContacts, RECORD_LIMITS } from '../../../src/engines/network/contacts.ts'
import { hasTable } from '../../../src/engines/network/firewall/table.ts'
import { networkProblem } from '../../../src/engines/network/index.ts'
import { idOf, interfacesOf, tableOf } from '../../../src/engines/network/names.ts'
import { DEFAULT_NETWORK_SETTINGS } from '../../../src/engines/network/settings.ts'
import { temporaryFolder } from '../../support/folder.ts'
import {
  callFrom,
  open,
  reasonToSkip,
  runJob,
  startJob,
  startListener,
  startNeighbour,
  startResolver,
  tracesOf,
} from '../../support/machine/network.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const skip = (await reasonToSkip({ after })) ?? false
// As root these tests must be able to run.
assert.ok(process.getuid?.() !== 0 || !skip, String(skip))
const settings = DEFAULT_NETWORK_SETTINGS
const idIn = async ({ folder }: { folder: string }): Promise<string> => idOf(await realpath(folder))

/** Whether a process of this machine can connect. */
function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1000 })
    for (const event of ['connect', 'error', 'timeout']) {
      socket.once(event, () => {
        socket.destroy()
        resolve(event === 'connect')
      })
    }
  })
}

const LISTEN = `
const server = require('node:net').createServer((socket) => socket.on('error', () => {}).end('hello'))
server.listen(values.port, values.host, () => console.log('listens'))
`

/** The registry that this machine's npm uses. */
const registry = new URL((await promisify(execFile)('npm', ['config', 'get', 'registry'])).stdout.trim())
const registryPort = Number(registry.port || (registry.protocol === 'http:' ? 80 : 443))
const hasRegistry = await canConnect(registry.hostname, registryPort)

test('a job reaches the registry by its name', { skip: skip || !hasRegistry }, async (t) => {
  const view = await (await open(t)).open('a build', { isRecorded: true })
  const script = `require('node:${registry.protocol.slice(0, -1)}').get('${new URL('left-pad', registry)}', ({ statusCode }) => {
    console.log(statusCode)
    process.exit()
  })`
  assert.equal(await runJob(view, script), '200\n')
  const contacts = await view.contacts()
  assert.deepEqual(
    contacts.map(({ host, port, protocol }) => ({ host, port, protocol })),
    [{ host: registry.hostname, port: registryPort, protocol: 'tcp' }],
  )
})

test('other hosts see the address of the machine, and not that of the job', { skip }, async (t) => {
  const neighbour = await startNeighbour(t)
  const view = await (await open(t)).open('an app')
  const script = `require('node:net').connect(values).on('data', (chunk) => console.log(String(chunk)))`
  assert.equal(await runJob(view, script, { host: neighbour.address, port: neighbour.port }), `${neighbour.machine}\n`)
})

test('a job reaches nothing that listens on this machine', { skip }, async (t) => {
  const neighbour = await startNeighbour(t)
  const networks = await open(t)
  const view = await networks.open('an app')
  const [everywhere, loopback] = [await startListener(t), await startListener(t, '127.0.0.1')]
  const gateway = (await readFile(view.mounts[0]?.from ?? '', 'utf8')).match(/nameserver (\S+)/)?.[1] ?? ''
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const addresses = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address)
  assert.ok(addresses.includes(gateway) && addresses.includes(neighbour.machine) && addresses.includes('127.0.0.1'))
  const places = Object.fromEntries(addresses.map((host) => [host, { host, port: everywhere.port }]))
  const found = await callFrom(view, { ...places, loopback: { host: '127.0.0.1', port: loopback.port } })
  assert.deepEqual(new Set(Object.values(found)), new Set(['ECONNREFUSED']))
  assert.deepEqual([everywhere.calls, loopback.calls], [0, 0])
})

test('a job has no IPv6 but its own loopback', { skip }, async (t) => {
  const view = await (await open(t)).open('an app')
  const listener = await startListener(t, '::')
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const outward = own.filter(({ family, address }) => family === 'IPv6' && !/^(fe80|::1)/.test(address))
  const places = Object.fromEntries(outward.map(({ address: host }) => [host, { host, port: listener.port }]))
  for (const code of Object.values(await callFrom(view, places))) assert.match(code, /^(ENETUNREACH|EADDRNOTAVAIL)$/)
  const addresses = `console.log(Object.values(require('node:os').networkInterfaces()).flat()
    .filter(({ family }) => family === 'IPv6').map(({ address }) => address).join())`
  assert.equal(await runJob(view, addresses), '::1\n')
  assert.equal(listener.calls, 0)
})

test("a job reaches neither another job's listener nor link-local and private addresses", { skip }, async (t) => {
  const neighbour = await startNeighbour(t)
  const networks = await open(t)
  const [one, other] = [await networks.open('one'), await networks.open('other')]
  const listening = await startJob(other, LISTEN, { host: other.listen, port: 3000 })
  t.after(() => listening.stop(0))
  await listening.printed
  assert.equal(await canConnect(other.address, 3000), true)
  const found = await callFrom(one, {
    neighbour: { host: neighbour.address, port: neighbour.port },
    other: { host: other.address, port: 3000 },
    metadata: { host: '169.254.169.254', port: 80 },
    lan: { host: neighbour.lan, port: neighbour.port },
  })
  const refused = 'ECONNREFUSED'
  assert.deepEqual(found, { neighbour: 'reached', other: refused, metadata: refused, lan: refused })
})

test('an operator blocks ranges and makes exceptions', { skip }, async (t) => {
  const [neighbour, second] = [await startNeighbour(t), await startNeighbour(t)]
  const allowed = [neighbour.lan, `${second.lan}:${second.port}`]
  const view = await (await open(t, { settings: { ...settings, blocked: ['198.18.0.0/15'], allowed } })).open('an app')
  const found = await callFrom(view, {
    blocked: { host: neighbour.address, port: neighbour.port },
    exception: { host: neighbour.lan, port: neighbour.port },
    exceptionWithPort: { host: second.lan, port: second.port },
  })
  assert.deepEqual(found, { blocked: 'ECONNREFUSED', exception: 'reached', exceptionWithPort: 'reached' })
  const strict = { ...settings, allowed: [`${second.lan}:1`] }
  const wrongPort = await (await open(t, { settings: strict })).open('an app')
  const place = { host: second.lan, port: second.port }
  assert.deepEqual(await callFrom(wrongPort, { place }), { place: 'ECONNREFUSED' })
})

test('this machine is opened by an exception that names the port, and by no other', { skip }, async (t) => {
  const { machine } = await startNeighbour(t)
  const [cms, api] = [await startListener(t), await startListener(t)]
  const allowed = ['198.18.0.0/15', `${machine}:${cms.port}`]
  const view = await (await open(t, { settings: { ...settings, allowed } })).open('an app')
  const found = await callFrom(view, { cms: { host: machine, port: cms.port }, api: { host: machine, port: api.port } })
  assert.deepEqual(found, { cms: 'reached', api: 'ECONNREFUSED' })
})

test("a port of this machine that leads elsewhere is this machine's, too", { skip }, async (t) => {
  const { machine, address, port } = await startNeighbour(t)
  const table = `turn_${port}`
  t.after(() => run('nft', ['delete', 'table', 'inet', table]))
  // As Docker publishes a container's port.
  const rules = `table inet ${table} {
    chain turn {
      type nat hook prerouting priority dstnat; policy accept;
      ip daddr ${machine} tcp dport { 81, 82 } dnat ip to ${address}:${port}
    }
  }`
  await run('nft', ['-f', '-'], rules)
  const view = await (await open(t, { settings: { ...settings, allowed: [`${machine}:82`] } })).open('an app')
  const found = await callFrom(view, { hidden: { host: machine, port: 81 }, excepted: { host: machine, port: 82 } })
  assert.deepEqual(found, { hidden: 'ECONNREFUSED', excepted: 'reached' })
})

test('the service reaches an app on all interfaces; other users and neighbours do not', { skip }, async (t) => {
  const neighbour = await startNeighbour(t)
  const view = await (await open(t)).open('an app')
  const app = await startJob(view, LISTEN, { host: view.listen, port: 3000 })
  t.after(() => app.stop(0))
  await app.printed
  assert.equal(await canConnect(view.address, 3000), true)
  assert.deepEqual(await neighbour.call({ app: { host: view.address, port: 3000 } }), { app: 'late' })
  const asNobody = ['--reuid', '65534', '--regid', '65534', '--clear-groups', 'bash', '-c', 'exec 3<>/dev/tcp/$0/3000']
  await assert.rejects(run('setpriv', [...asNobody, view.address]), /refused/i)
})

test('a machine that was no router does not become one', { skip }, async (t) => {
  const [one, other] = [await startNeighbour(t), await startNeighbour(t)]
  await open(t)
  const isRouter = (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')) === '1\n'
  const found = await one.call({ other: { host: other.address, port: other.port } })
  assert.deepEqual(found, { other: isRouter ? 'reached' : 'late' })
})

test('what a build contacted is recorded with the names it asked for', { skip }, async (t) => {
  const neighbour = await startNeighbour(t)
  const { address, lan } = neighbour
  const resolverFile = await startResolver(t, { 'cms.test': address, 'big.test': address, 'inside.test': lan })
  const networks = await open(t, { resolverFile })
  const view = await networks.open('a build', { isRecorded: true })
  const other = await networks.open('another build', { isRecorded: true })
  const [port, protocol] = [neighbour.port, 'tcp']
  const found = await callFrom(view, {
    cms: { host: 'cms.test', port },
    inside: { host: 'inside.test', port },
    bare: { host: address, port: 1 },
    secret: { host: 'secret.evil.test', port },
  })
  assert.deepEqual(found, { cms: 'reached', inside: 'ECONNREFUSED', bare: 'ECONNREFUSED', secret: 'ENOTFOUND' })
  const contacts = await view.contacts()
  assert.deepEqual(contacts, [
    { host: 'cms.test', protocol, port: 1, addresses: [address], isRefused: false, outcome: 'CONNECTION_REFUSED' },
    { host: 'cms.test', protocol, port, addresses: [address], isRefused: false, outcome: 'CONNECTED' },
    { host: 'inside.test', protocol, port, addresses: [lan], isRefused: true, outcome: 'BLOCKED' },
    {
      ...{ host: 'secret.evil.test', protocol: 'dns', port: null, addresses: [], isRefused: false },
      outcome: 'NAME_NOT_RESOLVED',
    },
  ])
  assert.deepEqual(await other.contacts(), [])
  await callFrom(other, { cms: { host: 'cms.test', port }, big: { host: 'big.test', port: 2 } })
  const marked = newContacts(await other.contacts(), new Set(contacts.map(contactKey))).filter(({ isNew }) => isNew)
  assert.deepEqual(new Set(marked.map(({ host }) => host)), new Set(['big.test', 'cms.test']))
})

test('a peer that does not answer is distinguished from one that refuses, and one that hangs up later has accepted', {
  skip,
}, async (t) => {
  const { address, port, link } = await startNeighbour(t)
  const view = await (await open(t)).open('a build', { isRecorded: true })
  await callFrom(view, { open: { host: address, port }, closed: { host: address, port: 1 } })
  // From here on the packets are dropped.
  await run('ip', ['link', 'set', 'dev', link, 'down'])
  await run('ip', ['link', 'set', 'dev', link, 'up'])
  await run('ip', ['neigh', 'replace', address, 'lladdr', '02:00:00:00:00:01', 'dev', link])
  assert.deepEqual(await callFrom(view, { silent: { host: address, port: 2 } }), { silent: 'late' })
  const outcomes = (await view.contacts()).map((contact) => [contact.port, contact.outcome])
  assert.deepEqual(
    new Map(outcomes as [number, string][]),
    new Map([
      [port, 'CONNECTED'],
      [1, 'CONNECTION_REFUSED'],
      [2, 'NO_ANSWER'],
    ]),
  )
})

test('an answer that is too long for one packet comes by TCP', { skip }, async (t) => {
  const resolverFile = await startResolver(t, { 'big.test': '198.18.0.1' })
  const view = await (await open(t, { resolverFile })).open('a build')
  const script = `require('node:dns').resolve4('big.test', (error, found) => console.log(error?.code ?? found.join()))`
  assert.equal(await runJob(view, script), '198.18.0.1\n')
})

test('connections that do not fit the record are refused, so that the record is complete', { skip }, async (t) => {
  const { address } = await startNeighbour(t)
  const view = await (await open(t)).open('a build', { isRecorded: true })
  const script = `
    const socket = require('node:dgram').createSocket('udp4')
    const send = (port) => new Promise((resolve) => socket.send('x', port, values.address, (error) => resolve(error?.code)))
    const all = Promise.all(Array.from({ length: 9000 }, (_, at) => send(at + 1)))
    all.then((codes) => { console.log(codes.filter(Boolean).length); socket.close() })`
  assert.equal(await runJob(view, script, { address }), `${9000 - RECORD_LIMITS.connections}\n`)
  assert.equal((await view.contacts()).length, RECORD_LIMITS.connections)
})

test('a connection by TCP that does not fit the record is refused, too', { skip }, async (t) => {
  const { address, port } = await startNeighbour(t)
  const view = await (await open(t)).open('a build', { isRecorded: true })
  const script = `
    const { connect } = require('node:net')
    const call = (port) => new Promise((resolve) => {
      const socket = connect({ ...values, port })
      for (const event of ['connect', 'error']) socket.once(event, () => resolve(socket.destroy()))
    })
    ;(async () => { for (let port = 1; port <= values.max; port++) await call(port) })()`
  assert.ok(port > RECORD_LIMITS.connections)
  assert.deepEqual(await callFrom(view, { early: { host: address, port: 1 } }), { early: 'ECONNREFUSED' })
  await runJob(view, script, { host: address, max: RECORD_LIMITS.connections })
  assert.deepEqual(await callFrom(view, { late: { host: address, port } }), { late: 'ECONNREFUSED' })
  assert.equal((await view.contacts()).length, RECORD_LIMITS.connections)
})

test('a view cannot use the address of another one, even with the rights to try', { skip }, async (t) => {
  const { address, port } = await startNeighbour(t)
  const networks = await open(t)
  const [one, other] = [await networks.open('one'), await networks.open('other')]
  const [ip = '', ...add] = one.around(['ip', 'addr', 'add', `${other.address}/32`, 'dev', 'eth0'])
  await run(ip, add)
  const places = {
    own: { host: address, port, localAddress: one.address },
    stolen: { host: address, port, localAddress: other.address },
  }
  assert.deepEqual(await callFrom(one, places), { own: 'reached', stolen: 'late' })
})

test('two services run side by side, and the end of one does not affect the other', { skip }, async (t) => {
  const neighbour = await startNeighbour(t)
  const [first, second] = [await open(t), await open(t)]
  const [one, other] = [await first.open('one'), await second.open('other')]
  const listening = await startJob(other, LISTEN, { host: other.listen, port: 3000 })
  t.after(() => listening.stop(0))
  await listening.printed
  const places = {
    other: { host: other.address, port: 3000 },
    world: { host: neighbour.address, port: neighbour.port },
  }
  assert.deepEqual(await callFrom(one, places), { other: 'ECONNREFUSED', world: 'reached' })
  await first.close()
  assert.deepEqual(await callFrom(other, { world: places.world }), { world: 'reached' })
  assert.equal(await canConnect(other.address, 3000), true)
})

test('a view leaves nothing when it is closed, and the service leaves the machine as it was', { skip }, async (t) => {
  const { link } = await startNeighbour(t)
  const forwarding = () => readFile(`/proc/sys/net/ipv4/conf/${link}/forwarding`, 'utf8')
  const before = await forwarding()
  const networks = await open(t)
  const id = await idIn(networks)
  const untouched = await tracesOf(id)
  assert.equal(await forwarding(), '1\n')
  const view = await networks.open('a build', { isRecorded: true })
  assert.notDeepEqual(await tracesOf(id), untouched)
  await view.close()
  await view.close()
  assert.deepEqual(await tracesOf(id), untouched)
  await networks.close()
  assert.deepEqual(await tracesOf(id), [])
  if ((await tracesOf('headland_')).length === 0) assert.equal(await forwarding(), before)
})

const SERVICE = `
const { openNetworks } = await import(${JSON.stringify(fileURLToPath(new URL('../../../src/engines/network/index.ts', import.meta.url)))})
const [folder, settings] = process.argv.slice(1)
const networks = await openNetworks({ folder, settings: JSON.parse(settings), onProblem: console.error })
const view = await networks.open('a build')
console.log(JSON.stringify(view.around([])))
setInterval(() => undefined, 1000)
`

test('a service that was killed leaves its jobs without a network, and the next one sweeps', { skip }, async (t) => {
  const folder = await temporaryFolder(t)
  const id = idOf(await realpath(folder))
  const node = ['--no-warnings', '--input-type=module', '-e', SERVICE, folder, JSON.stringify(settings)]
  const service = spawn(process.execPath, node, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => service.kill('SIGKILL'))
  const [enter] = await once(service.stdout, 'data')
  // A job that outlives the service.
  const [file, ...args] = JSON.parse(String(enter)) as string[]
  const orphan = spawn(file ?? '', [...args, 'sleep', '1000'], { stdio: 'ignore' })
  t.after(() => orphan.kill('SIGKILL'))
  await once(orphan, 'spawn')
  const ours = await readNamespace('self')
  await until(async () => (await readNamespace(orphan.pid)) !== ours)
  service.kill('SIGKILL')
  await once(service, 'close')
  // Any service that starts sweeps, also one of another test at this moment: interfaces first, then the rules.
  const isRestricted = await hasTable(id)
  const hasInterfaces = (await tracesOf(interfacesOf(id).namespaces)).some((line) => !line.includes('table'))
  assert.ok(isRestricted || !hasInterfaces, 'the rules still restrict the job')

  const networks = await open(t, { folder })
  assert.equal((await tracesOf(interfacesOf(id).namespaces)).filter((line) => !line.includes('table')).length, 0)
  const view = await networks.open('a build')
  const gateway = (await readFile(view.mounts[0]?.from ?? '', 'utf8')).match(/nameserver (\S+)/)?.[1] ?? ''
  assert.deepEqual(await callFrom(view, { gateway: { host: gateway, port: 53 } }), { gateway: 'reached' })
  await networks.close()
  assert.deepEqual(await tracesOf(id), [])
})

test('a service in its own process namespace does not take the network of another service for a dead one', {
  skip,
}, async (t) => {
  const networks = await open(t)
  const folder = await temporaryFolder(t)
  const node = ['--no-warnings', '--input-type=module', '-e', SERVICE, folder, JSON.stringify(settings)]
  const apart = ['--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, ...node]
  const service = spawn('unshare', apart, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => service.kill('SIGKILL'))
  await once(service.stdout, 'data', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  assert.equal(await hasTable(await idIn(networks)), true)
  assert.equal(await networks.obstacle(), undefined)
  service.kill('SIGKILL')
  await once(service, 'close')
  const next = await open(t, { folder })
  assert.ok(next.swept > 0, 'its own, by the folder')
})

const readNamespace = async (pid: number | undefined | 'self'): Promise<string> => readlink(`/proc/${pid}/ns/net`)

test('a second service on the same data folder gets an error, and disturbs nothing', { skip }, async (t) => {
  const networks = await open(t)
  await assert.rejects(open(t, { folder: networks.folder }), /another service with the same data folder/)
  const view = await networks.open('an app')
  assert.equal(await networks.obstacle(), undefined)
  await view.close()
})

test('rules that another program has flushed are restored', { skip }, async (t) => {
  const networks = await open(t)
  const id = await idIn(networks)
  const view = await networks.open('an app')
  const listener = await startListener(t)
  const { machine } = await startNeighbour(t)
  await run('nft', ['delete', 'table', 'inet', tableOf(id)])
  await until(() => hasTable(id), 'the rules are back')
  const place = { host: machine, port: listener.port }
  assert.deepEqual(await callFrom(view, { place }), { place: 'ECONNREFUSED' })
})

test("other programs' rules that block jobs are found and named", { skip }, async (t) => {
  const networks = await open(t)
  assert.equal(await networks.obstacle(), undefined)
  const mine = `"${interfacesOf(await idIn(networks)).gatewayLink}*"`
  const table = `obstacle_${await idIn(networks)}`
  t.after(() => run('nft', ['delete', 'table', 'inet', table]))
  const rules = `table inet ${table} {
    chain strict {
      type filter hook forward priority filter; policy drop;
      iifname != ${mine} oifname != ${mine} accept
    }
  }`
  await run('nft', ['-f', '-'], rules)
  const obstacle = (await networks.obstacle()) ?? ''
  assert.match(obstacle, /nothing outside is reached/)
  assert.ok(obstacle.includes(`strict of inet ${table} drops what it does not know`), obstacle)
})

test('the doctor finds nothing wrong where all is well', { skip }, async () => {
  assert.equal(await networkProblem(settings), undefined)
})

test('a range that this machine has a route to is not taken', { skip }, async (t) => {
  const { machine } = await startNeighbour(t)
  const range = `${machine.split('.').slice(0, 3).join('.')}.0/24`
  await assert.rejects(open(t, { settings: { ...settings, range } }), /no part of .* is free/)
})

test('two hundred views are open at once, and each is reached', { skip }, async (t) => {
  const networks = await open(t)
  const views = await Promise.all(Array.from({ length: 200 }, (_, at) => networks.open(`app ${at}`)))
  assert.equal(new Set(views.map(({ address }) => address)).size, 200)
  const last = views.at(-1)
  assert.ok(last)
  const app = await startJob(last, LISTEN, { host: last.listen, port: 3000 })
  await app.printed
  assert.equal(await canConnect(last.address, 3000), true)
  await app.stop(0)
})

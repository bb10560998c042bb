/**
 * Hostile apps on two nodes, against the firewall that the role `node` keeps there: nothing of it is applied by the test. The
 * third machine of the swarm does not run the role.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PORT_RANGES } from '../../src/nodes/process/port-ranges.ts'
import { ISOLATION_TABLE, type Isolation, prepareSwarm } from '../../src/swarm/index.ts'
import { NEEDS_REGISTRY } from '../support/images/registry.ts'
import { inReverse } from '../support/machine/docker-engine.ts'
import { NEEDS_SWARM, type Node, type Swarm, startSwarm, visitFrom } from '../support/machine/swarm.ts'
import { type Cluster, createCluster } from '../support/swarm/cluster.ts'
import { type AppImage, startImage } from '../support/swarm/image.ts'
import {
  listenIn,
  type NodeControl,
  type NodeRole,
  nodeRole,
  runIn,
  startNodeControl,
} from '../support/swarm/node-roles.ts'
import { until } from '../support/until.ts'

const skip = NEEDS_SWARM.skip || NEEDS_REGISTRY.skip
const t = inReverse({ after })

/** Stands for a server of the internet, in the network between the nodes. */
const PUBLIC = '203.0.113.7'
const METADATA = '169.254.169.254'
/** The resolver of the nodes, and another one. */
const RESOLVER = '10.99.0.2'
const OTHER_RESOLVER = '10.99.0.3'
/** An address that may call apps, of a machine that is not there. */
const OTHER_EDGE = '10.99.0.77'
const PORTS = { web: 80, dns: 53, ssh: 22, docker: 2375, api: 8081 }
const LEASE_MS = 8000
/** In the image of the apps. */
const NODE = '/headland/lib/node/bin/node'
/** What an app is told where it may not connect. */
const REFUSED = ['ECONNREFUSED', 'timeout', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES']

let swarm: Swarm
let image: AppImage
let cluster: Cluster
let control: NodeControl
let roles: readonly [NodeRole, NodeRole]
let rules: Isolation
let publicCalls: () => string[]

const urlOf = (name: string) => cluster.urls(name)[0] ?? ''
const hostOf = (name: string) => urlOf(name).replace('http://', '')
const ask = async (page: string, of = 'one') => (await swarm.visit(`${urlOf(of)}/${page}`))?.text
const reach = (to: string, of = 'one') => ask(`reach?${to}`, of)
const tableOf = (node: Node) => runIn(node.inside, 'nft', 'list', 'table', 'inet', ISOLATION_TABLE)
const confirmed = (node: Node) => until(() => control.isConfirmed(node.id), `${node.hostname} is confirmed`)

before(async () => {
  if (skip) return
  swarm = await startSwarm(t, ['EU-W', 'US-C', ''], { hasNetwork: false })
  image = await startImage(t, swarm)
  for (const address of [PUBLIC, METADATA, RESOLVER, OTHER_RESOLVER])
    await runIn(swarm.inside, 'ip', 'addr', 'add', `${address}/32`, 'dev', 'br0')
  publicCalls = await listenIn(t, swarm.inside, [
    { kind: 'tcp', host: PUBLIC, port: PORTS.web },
    { kind: 'udp', host: PUBLIC, port: PORTS.dns },
    { kind: 'tcp', host: METADATA, port: PORTS.web },
    { kind: 'tcp', host: swarm.address, port: PORTS.api },
    ...[RESOLVER, OTHER_RESOLVER].flatMap((host) => [
      { kind: 'udp' as const, host, port: PORTS.dns },
      { kind: 'tcp' as const, host, port: PORTS.web },
    ]),
  ])
  for (const [at, node] of swarm.nodes.entries()) {
    await runIn(node.inside, 'ip', 'addr', 'add', `fd99::1${at}/64`, 'dev', 'eth0', 'nodad')
    await listenIn(t, node.inside, [
      { kind: 'tcp', host: '::', port: PORTS.ssh },
      { kind: 'tcp', host: '::', port: PORTS.docker },
    ])
  }
  rules = {
    edges: [swarm.address, OTHER_EDGE],
    blocked: [],
    allowed: [{ address: swarm.address, port: PORTS.api }],
    resolvers: [RESOLVER],
  }
  control = await startNodeControl(t, swarm, { leaseMs: LEASE_MS })
  await control.setRules(rules)
  const [first, second] = swarm.nodes
  roles = [await nodeRole(t, first, control), await nodeRole(t, second, control)]
  await Promise.all(roles.map((role) => role.start()))
  for (const node of [first, second]) await confirmed(node)
  // Each role has made the network of its node.
  await prepareSwarm(swarm.docker)
  cluster = createCluster({ cluster: 'hostile', docker: swarm.docker, image })
  cluster.want('one')
  cluster.want('neighbour')
  cluster.want('far', { region: 'US-C' })
  const names = ['one', 'neighbour', 'far']
  await cluster.roundsUntil(() => names.every((name) => cluster.running(name).length === 1), 'they run')
  for (const name of names) await until(async () => (await swarm.visit(urlOf(name)))?.status === 200, `${name} answers`)
})

/** The address of an app in the network of its node. */
async function innerAddress(node: Node, name: string): Promise<string> {
  const id = (await node.docker('ps', '--quiet', '--filter', `name=-${name}.`)).split('\n')[0] ?? ''
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
  return node.docker('inspect', '--format', format, id)
}

/** The address of a node in the network of its apps. */
async function gatewayOf(node: Node): Promise<string> {
  const [link] = JSON.parse(await runIn(node.inside, 'ip', '-json', '-4', 'address', 'show', 'dev', 'hl-apps'))
  return link.addr_info[0].local
}

/** What must not be reached, each at an address where something listens. */
async function forbidden(): Promise<Record<string, string>> {
  const [first, second] = swarm.nodes
  return {
    'a neighbour at its published port': hostOf('neighbour'),
    'a neighbour at its own address': `${await innerAddress(first, 'neighbour')}:3000`,
    'an app of another node': hostOf('far'),
    itself: hostOf('one'),
    'the SSH of its node': `${first.address}:${PORTS.ssh}`,
    'the SSH of another node': `${second.address}:${PORTS.ssh}`,
    'the swarm on its node': `${first.address}:2377`,
    'the swarm on another node': `${second.address}:7946`,
    "Docker's API on its node": `${first.address}:${PORTS.docker}`,
    "Docker's API on another node": `${second.address}:${PORTS.docker}`,
    'the registry': image.registry,
    'a control process': control.address,
    'the metadata of a cloud': `${METADATA}:${PORTS.web}`,
    'another port of the resolver': `${RESOLVER}:${PORTS.web}`,
    'the gateway of its network': `${await gatewayOf(first)}:2377`,
  }
}

test('the role makes the network, and edges alone reach apps', { skip }, async () => {
  for (const name of ['one', 'neighbour', 'far']) assert.equal((await swarm.visit(urlOf(name)))?.status, 200, name)
  for (const node of swarm.nodes)
    assert.equal(await visitFrom(node.inside, urlOf(node === swarm.nodes[1] ? 'one' : 'far')), undefined, node.hostname)
})

test('an app reaches the internet, the API for apps and the resolver', { skip }, async () => {
  assert.equal(await reach(`${PUBLIC}:${PORTS.web}`), 'connected')
  assert.equal(await reach(`${swarm.address}:${PORTS.api}`), 'connected')
  assert.equal(await ask(`udp?${RESOLVER}:${PORTS.dns}`), 'answered')
})

test('an app of a cluster reaches no neighbour, node, registry, control process, Docker or metadata', {
  skip,
}, async () => {
  for (const [what, to] of Object.entries(await forbidden())) {
    const how = (await reach(to)) ?? ''
    assert.ok(REFUSED.includes(how), `${what} at ${to}: ${how}`)
  }
})

test('an app of a cluster asks no other private resolver', { skip }, async () => {
  assert.notEqual(await ask(`udp?${OTHER_RESOLVER}:${PORTS.dns}`), 'answered')
})

test('an app of a cluster has no way by IPv6', { skip }, async () => {
  for (const host of ['fd99::10', 'fd99::11', '::ffff:10.99.0.12', '::ffff:169.254.169.254'])
    for (const port of [PORTS.ssh, PORTS.web]) {
      const how = (await reach(`[${host}]:${port}`)) ?? ''
      assert.ok(REFUSED.includes(how), `${host} ${port}: ${how}`)
    }
})

/** A packet with this address, in the network of the app `one`: with root, which no app has. */
async function sendFrom(address: string) {
  const [first] = swarm.nodes
  const id = (await first.docker('ps', '--quiet', '--filter', 'name=-one.')).split('\n')[0] ?? ''
  const pid = await first.docker('inspect', '--format', '{{.State.Pid}}', id)
  const inside = ['nsenter', '--target', String(first.pid), '--pid', '--mount', 'nsenter', '--target', pid, '--net']
  const held = await runIn(inside, 'ip', 'addr', 'show', 'dev', 'eth0')
  if (!held.includes(` ${address}/`)) await runIn(inside, 'ip', 'addr', 'add', `${address}/32`, 'dev', 'eth0')
  const send = `
    const socket = require('node:dgram').createSocket('udp4')
    socket.bind(0, process.argv[1], () => socket.send('!', ${PORTS.dns}, '${PUBLIC}', () => socket.close()))`
  await runIn(inside, process.execPath, '-e', send, address)
}

test('a packet with the address of an edge does not leave the node, even if an app could send one', {
  skip,
}, async () => {
  const [first] = swarm.nodes
  await sendFrom(OTHER_EDGE)
  await sendFrom(await innerAddress(first, 'one'))
  await until(() => publicCalls().includes(first.address), 'the packet behind it has arrived')
  assert.deepEqual(new Set(publicCalls()), new Set([first.address]))
})

test('a node without the role is not confirmed', { skip }, async () => {
  const [first, second, third] = swarm.nodes
  assert.deepEqual(
    [await control.isConfirmed(first.id), await control.isConfirmed(second.id), await control.isConfirmed(third.id)],
    [true, true, false],
  )
})

test('rules that another program has removed come back by themselves', { skip }, async () => {
  const [first] = swarm.nodes
  const before = await tableOf(first)
  await runIn(first.inside, 'nft', 'delete', 'table', 'inet', ISOLATION_TABLE)
  await until(
    () =>
      tableOf(first).then(
        (table) => withoutCounts(table) === withoutCounts(before),
        () => false,
      ),
    'the table is there',
  )
  assert.notEqual(await reach(hostOf('far')), 'connected')
  assert.equal(await control.isConfirmed(first.id), true)
})

test('without the role and its rules everything is reached, and what was reached ends when they are back', {
  skip,
}, async () => {
  const [first] = swarm.nodes
  await roles[0].kill()
  await runIn(first.inside, 'nft', 'delete', 'table', 'inet', ISOLATION_TABLE)
  // Docker refuses neighbours by itself, and the other node has its own rules.
  for (const [what, to] of Object.entries(await forbidden()))
    if (!/neighbour|itself|app of another/.test(what)) assert.equal(await reach(to), 'connected', `${what} at ${to}`)
  assert.equal(await ask(`udp?${OTHER_RESOLVER}:${PORTS.dns}`), 'answered')
  await sendFrom(OTHER_EDGE)
  await until(() => publicCalls().includes(OTHER_EDGE), 'a packet with the address of an edge has left the node')
  assert.equal(await ask(`hold?${METADATA}:${PORTS.web}`), 'connected')
  assert.equal(await ask('held'), 'answered')
  await roles[0].start()
  assert.notEqual(await reach(`${METADATA}:${PORTS.web}`), 'connected')
  assert.notEqual(await ask('held'), 'answered')
  await confirmed(first)
})

test('the kernel keeps the rules of a process that was killed, and the confirmation ends with its lease', {
  skip,
}, async () => {
  const [, second] = swarm.nodes
  await roles[1].kill()
  await until(async () => !(await control.isConfirmed(second.id)), 'it is not confirmed any more')
  assert.notEqual(await reach(hostOf('one'), 'far'), 'connected')
  assert.equal(await reach(`${PUBLIC}:${PORTS.web}`, 'far'), 'connected')
  await roles[1].start()
  await confirmed(second)
})

test('other rules are in the kernel of each node as soon as a control process has them', { skip }, async () => {
  await control.setRules({ ...rules, edges: ['198.51.100.1'], allowed: [] })
  for (const name of ['one', 'far'])
    await until(async () => (await swarm.visit(urlOf(name))) === undefined, `${name} is reached by no edge`)
  await control.setRules(rules)
  for (const name of ['one', 'far'])
    await until(async () => (await swarm.visit(urlOf(name)))?.status === 200, `${name} is reached again`)
  assert.equal(await reach(`${swarm.address}:${PORTS.api}`), 'connected')
})

for (const [how, signal] of [
  ['was restarted', 'TERM'],
  ['was killed', 'KILL'],
] as const)
  test(`apps of a node run again, and new ones start there, when its Docker ${how}`, { skip }, async () => {
    const [, second] = swarm.nodes
    const before = cluster.running('far').map(({ instance }) => instance)
    const name = `after-${signal.toLowerCase()}`
    await second.restart(signal)
    cluster.want(name, { region: 'US-C' })
    await cluster.roundsUntil(
      () =>
        cluster.running(name).length === 1 &&
        cluster.running('far').length === 1 &&
        !before.includes(cluster.running('far')[0]?.instance ?? ''),
      'both run',
    )
    for (const one of ['far', name])
      await until(async () => (await swarm.visit(urlOf(one)))?.status === 200, `${one} answers`)
    assert.notEqual(await reach(hostOf('one'), name), 'connected')
    assert.equal(await reach(`${PUBLIC}:${PORTS.web}`, name), 'connected')
    // One that is left from before would answer at an address that another app has now.
    const cables = (await runIn(second.inside, 'ip', '-brief', 'link', 'show', 'master', 'hl-apps')).trim().split('\n')
    assert.equal(cables.length, (await second.docker('ps', '--quiet')).split('\n').length, cables.join('\n'))
  })

test('each start of Docker gives containers ports of another range, so that no app gets the port of another one', {
  skip,
}, async () => {
  const [, second] = swarm.nodes
  const rangeOf = (port: number) => PORT_RANGES.findIndex(({ first, last }) => port >= first && port <= last)
  const [used = ''] = (await second.docker('images', '--quiet')).split('\n')
  async function publish(): Promise<number> {
    const program = [
      NODE,
      used,
      '--eval',
      "process.on('SIGTERM', () => process.exit()); setInterval(() => undefined, 1000)",
    ]
    const id = await second.docker('run', '--detach', '--publish', '3000', '--entrypoint', ...program)
    return rangeOf(Number((await second.docker('port', id, '3000')).split(/[:\n]/)[1]))
  }
  const seen = [await publish()]
  while (seen.length < 3) {
    // The role has seen which range is in use.
    await until(async () => {
      const [first] = (await runIn(second.inside, 'cat', '/proc/sys/net/ipv4/ip_local_port_range')).split(/\s/)
      return rangeOf(Number(first)) !== seen.at(-1)
    }, 'the next start has another range')
    await second.restart()
    seen.push(await publish())
  }
  assert.equal(new Set(seen).size, seen.length, seen.join())
})

/** Without the connections that the kernel counts. */
const withoutCounts = (table: string): string =>
  table.replace(/(set connected \{[\s\S]*?)\n\t\telements = [\s\S]*?(?=\n\t\})/, '$1')

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { LEADING } from '../../test/support/leading.ts'
import { migratedSql } from '../../test/support/sql.ts'
import { until } from '../../test/support/until.ts'
import { createChanges, createLog, randomToken } from '../base/index.ts'
import { connectPeer, createCaller, type Frame, joinToken, openClusterPort, PROTOCOL } from '../channel/index.ts'
import type { Sql } from '../storage/index.ts'
import type { SwarmNode } from '../swarm/docker/types.ts'
import type { Isolation } from '../swarm/index.ts'
import type { ControlMethodsForNode, NodeDescription, NodeRules } from './messages.ts'
import { createNodes, NODE_LEASE_MS } from './nodes.ts'
import { createNodeRecords } from './records.ts'

const KEY = 'the key of the control processes'
const RULES: Isolation = { edges: ['10.0.0.1'], blocked: [], allowed: [], resolvers: [] }
const OTHERS: Isolation = { ...RULES, edges: ['10.0.0.2'] }
const FIRST_BOOT = '11111111-1111-4111-8111-111111111111/pid:[1]'
const SECOND_BOOT = '22222222-2222-4222-8222-222222222222/pid:[1]'

const described = (id: string): NodeDescription => ({
  id,
  hostname: `host of ${id}`,
  address: '10.0.0.11',
  memoryBytes: 8 * 1024 ** 3,
  engine: '28.5.2',
  version: '1.0.0',
})

type ControlOptions = { sql: Sql; clock: ReturnType<typeof handClock> }

async function startControl(t: TestContext, { sql, clock }: ControlOptions) {
  const control = randomToken()
  const nodes = createNodes({
    ...{ sql, clock, now: clock.now, control },
    log: createLog('silent'),
    changes: createChanges(),
  })
  await nodes.setRules(RULES)
  await nodes.start()
  t.after(nodes.stop)
  const greeting = { protocol: PROTOCOL, process: control, version: '1' }
  const port = await openClusterPort({
    address: { host: '127.0.0.1', port: 0, key: KEY },
    greeting: { ...greeting, role: 'control' },
    onRefused: (error) => assert.fail(String(error)),
  })
  t.after(port.close)
  port.serve({ role: 'node' }, nodes.serveNode)

  return {
    ...nodes,
    /** A connection of a node, as its process makes it. */
    async connect(name: string, { process = `${FIRST_BOOT} 1 1 a`, connection = 1 } = {}) {
      const token = joinToken(KEY, { role: 'node', name })
      const peer = await connectPeer<Frame, Frame>(
        { host: '127.0.0.1', port: port.port ?? 0, token },
        { protocol: PROTOCOL, role: 'node', process, version: '1', connection },
      )
      t.after(peer.close)
      const sent: NodeRules[] = []
      const { call, close } = createCaller<ControlMethodsForNode>(peer, {
        setRules: (rules: NodeRules) => void sent.push(rules),
      })
      return { call, close, sent }
    },
    /** So much time, second by second. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 1000) {
        await clock.advance(Math.min(left, 1000))
        await nodes.read()
      }
    },
  }
}

async function start(t: TestContext) {
  const shared = { sql: await migratedSql(t), clock: handClock() }
  return { ...shared, control: await startControl(t, shared) }
}

async function confirmedNode(control: Awaited<ReturnType<typeof startControl>>, name = 'berlin-1', id = 'n1') {
  const node = await control.connect(name)
  const rules = await node.call('join', described(id))
  assert.equal(await node.call('confirm', rules?.revision ?? null), true)
  await control.read()
  return { ...node, revision: rules?.revision ?? 0 }
}

test('a node is confirmed when it has confirmed the rules of now, and not before', async (t) => {
  const { control } = await start(t)
  let changes = 0
  control.onChange(() => changes++)
  const node = await control.connect('berlin-1')
  const rules = await node.call('join', described('n1'))
  assert.deepEqual(rules, { revision: 1, isolation: RULES })
  await control.read()
  assert.equal(control.isConfirmed('n1'), false)
  assert.equal(changes, 0)
  await node.call('confirm', 1)
  await control.read()
  assert.equal(control.isConfirmed('n1'), true)
  assert.equal(control.isConfirmed('n2'), false)
  assert.equal(changes, 1)
})

test('a node that does not join cannot confirm', async (t) => {
  const { control } = await start(t)
  const node = await control.connect('berlin-1')
  assert.equal(await node.call('confirm', 1), false)
})

test('without another confirmation, one is good for a lease', async (t) => {
  const { control } = await start(t)
  const node = await confirmedNode(control)
  node.close()
  await control.pass(NODE_LEASE_MS - 1000)
  assert.equal(control.isConfirmed('n1'), true)
  await control.pass(1000)
  assert.equal(control.isConfirmed('n1'), false)
})

test('a node that goes on confirming stays confirmed', async (t) => {
  const { control } = await start(t)
  const node = await confirmedNode(control)
  for (let passed = 0; passed < 2 * NODE_LEASE_MS; passed += 20_000) {
    await control.pass(20_000)
    assert.equal(await node.call('confirm', node.revision), true)
    await control.read()
    assert.equal(control.isConfirmed('n1'), true)
  }
})

test('every control process on the database knows it', async (t) => {
  const { control, sql, clock } = await start(t)
  const other = await startControl(t, { sql, clock })
  await confirmedNode(control)
  await other.read()
  assert.equal(other.isConfirmed('n1'), true)
  await other.pass(NODE_LEASE_MS)
  assert.equal(other.isConfirmed('n1'), false)
  const late = await startControl(t, { sql, clock })
  assert.equal(late.isConfirmed('n1'), false, 'the end of the lease is on record')
})

test('a control process that starts counts the lease from what it sees first', async (t) => {
  const { control, sql, clock } = await start(t)
  await confirmedNode(control)
  await control.stop()
  await clock.advance(10 * NODE_LEASE_MS)
  const later = await startControl(t, { sql, clock })
  assert.equal(later.isConfirmed('n1'), true)
  await later.pass(NODE_LEASE_MS)
  assert.equal(later.isConfirmed('n1'), false)
})

test('while the database is away no node is withdrawn', async (t) => {
  const { sql, clock } = await start(t)
  let isAway = false
  const query: Sql['query'] = (statement) => (isAway ? Promise.reject(new Error('away')) : sql.query(statement))
  const control = await startControl(t, { sql: { ...sql, query }, clock })
  await confirmedNode(control)
  isAway = true
  await clock.advance(10 * NODE_LEASE_MS)
  await assert.rejects(control.read(), /away/)
  isAway = false
  await control.read()
  assert.equal(control.isConfirmed('n1'), true)
})

test('a node whose kernel lost the rules is withdrawn at once', async (t) => {
  const { control } = await start(t)
  const node = await confirmedNode(control)
  assert.equal(await node.call('confirm', null), true)
  await control.read()
  assert.equal(control.isConfirmed('n1'), false)
})

test('other rules have another revision, are sent to nodes, and replace the ones before within a lease', async (t) => {
  const { control } = await start(t)
  const node = await confirmedNode(control)
  await control.setRules({ ...RULES, edges: ['10.0.0.1', '10.0.0.1'] })
  await control.setRules(OTHERS)
  await until(() => node.sent.length > 0)
  assert.deepEqual(node.sent, [{ revision: 2, isolation: OTHERS }])
  assert.equal(control.isConfirmed('n1'), true, 'it has not been given the time yet')
  for (const _ of [1, 2, 3]) {
    await control.pass(NODE_LEASE_MS / 3)
    await node.call('confirm', 1)
  }
  await control.read()
  assert.equal(control.isConfirmed('n1'), false)
  await node.call('confirm', 2)
  await control.read()
  assert.equal(control.isConfirmed('n1'), true)
})

test('text that is no address does not become a rule', async (t) => {
  const { control } = await start(t)
  await assert.rejects(control.setRules({ ...RULES, edges: ['1.2.3.4; drop'] }), /no IPv4 address/)
})

test('the name of a confirmed node is not taken by another machine, and its id not by another name', async (t) => {
  const { control } = await start(t)
  await confirmedNode(control)
  const namesake = await control.connect('berlin-1', { process: `${SECOND_BOOT} 1 1 b` })
  await assert.rejects(namesake.call('join', described('n2')), /is used by another node/)
  const other = await control.connect('berlin-2', { process: `${SECOND_BOOT} 1 1 b` })
  await assert.rejects(other.call('join', described('n1')), /with the token of berlin-1, and not of berlin-2/)
  await control.pass(NODE_LEASE_MS)
  await namesake.call('join', described('n2'))
  await namesake.call('confirm', 1)
  await control.read()
  assert.deepEqual(['n1', 'n2'].map(control.isConfirmed), [false, true])
})

test('a process that takes over on the same machine keeps the confirmation, and one after a start of the machine does not', async (t) => {
  const { control } = await start(t)
  await confirmedNode(control)
  const next = await control.connect('berlin-1', { process: `${FIRST_BOOT} 2 2 b` })
  await next.call('join', described('n1'))
  await control.read()
  assert.equal(control.isConfirmed('n1'), true)
  const rebooted = await control.connect('berlin-1', { process: `${SECOND_BOOT} 1 1 c` })
  await rebooted.call('join', described('n1'))
  await control.read()
  assert.equal(control.isConfirmed('n1'), false)
})

test('a node that follows another control process by now confirms nothing by its old connection', async (t) => {
  const { control, sql, clock } = await start(t)
  const other = await startControl(t, { sql, clock })
  const old = await confirmedNode(control)
  const next = await other.connect('berlin-1', { connection: 2 })
  await next.call('join', described('n1'))
  assert.equal(await old.call('confirm', 1), false)
  await assert.rejects(old.call('join', described('n1')), /has a later connection/)
  assert.equal(await next.call('confirm', 1), true)
})

test('what a node says of itself is checked', async (t) => {
  const { control } = await start(t)
  const node = await control.connect('berlin-1')
  for (const wrong of [
    { id: 'N1' },
    { id: "n1'; DROP TABLE" },
    { memoryBytes: -1 },
    { hostname: 'x'.repeat(300) },
    { engine: '28\u001B[31m' },
    { version: undefined as never },
  ])
    await assert.rejects(node.call('join', { ...described('n1'), ...wrong }))
  await assert.rejects(node.call('join', null as never))
  await node.call('join', described('n1'))
  await assert.rejects(node.call('confirm', 1.5), /no revision/)
})

const swarmNode = (id: string, change: Partial<SwarmNode['Spec']> = {}): SwarmNode => ({
  ID: id,
  Version: { Index: 1 },
  Spec: { Availability: 'active', Role: 'worker', Labels: { region: 'EU-W' }, ...change },
  Description: { Hostname: `host of ${id}`, Engine: { EngineVersion: '28.5.2' } },
  Status: { State: 'ready', Addr: '10.0.0.11' },
})

test('the leader records where nodes are, also those without the role, and forgets those that left the swarm', async (t) => {
  const { control, sql, clock } = await start(t)
  const node = await confirmedNode(control)
  const { nodes: rows } = createNodeRecords({ sql, changes: createChanges() })
  let members = [swarmNode('n1'), swarmNode('n2', { Availability: 'drain' }), swarmNode('n3', { Labels: {} })]
  const leading = control.lead({ docker: { nodes: async () => members } })(LEADING)
  t.after(() => leading.stop())
  const seen = async () => (await rows()).map(({ id, region, state, name }) => [id, region, state, name].join(' '))
  await until(async () => (await seen()).length === 3)
  assert.deepEqual((await seen()).toSorted(), ['n1 EU-W ready berlin-1', 'n2 EU-W drain ', 'n3  ready '])
  members = [swarmNode('n2')]
  await clock.advance(10_000)
  await until(async () => (await seen()).length === 1)
  assert.deepEqual(await seen(), ['n2 EU-W ready '])
  assert.equal(await node.call('confirm', 1), false, 'it has to join again')
  await node.call('join', described('n1'))
  assert.equal((await seen()).length, 2)
})

test('what the instances of a node use is told with its id, and only in a form that can be', async (t) => {
  const { control } = await start(t)
  const told: unknown[] = []
  control.onMemory((measured) => told.push(measured))
  const stranger = await control.connect('paris-1')
  await stranger.call('memory', { task1: 5 })
  const node = await confirmedNode(control)
  await node.call('memory', { task1: 5 })
  assert.deepEqual(told, [{ node: 'n1', used: { task1: 5 } }])
  for (const wrong of [{ task1: -1 }, { task1: 0.5 }, { 'task 1': 5 }, { task1: '5' as unknown as number }])
    await assert.rejects(node.call('memory', wrong), /memory of instances/)
  assert.equal(told.length, 1)
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LEADING } from '../../test/support/leading.ts'
import { openProcess, request, withNotices } from '../../test/support/modules/cluster.ts'
import { migratedSql } from '../../test/support/sql.ts'
import { startScheduler } from '../../test/support/swarm/small-scheduler.ts'
import { until } from '../../test/support/until.ts'
import { createChanges } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import { type Sql, statement } from '../storage/index.ts'
import type { ClusterAppsParts } from './cluster-apps.ts'

const { signal } = new AbortController()

/** A process that leads, and another one: they share the database, and nothing else. */
async function open(t: TestContext, more: Partial<ClusterAppsParts> = {}) {
  const [first, second] = [createChanges(), createChanges()]
  const sql = withNotices(await migratedSql(t), [first, second])
  const scheduler = startScheduler(t)
  const leader = await openProcess(t, { sql, changes: first, ...more })
  const other = await openProcess(t, { sql, changes: second, ...more })
  const leading = leader.lead({ docker: scheduler.docker, cluster: 'test' })(LEADING)
  t.after(() => leading.stop())
  const stateOf = (deployment: string) => leader.instances.of(deployment)?.state
  return { sql, scheduler, leader, other, leading, stateOf }
}

const rowOf = async (sql: Sql, deployment: string) =>
  (await sql.query(statement`SELECT * FROM cluster_apps WHERE deployment = ${deployment}`))[0]

const isReason = (reason: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.reason, reason)
  assert.match(error.message, message)
  return true
}

test('an app that another process starts answers, and edges of each process are told where', async (t) => {
  const { leader, other, scheduler } = await open(t)
  const edges = [await leader.edge(), await other.edge()]
  await other.instances.start(request('one'), { signal })
  assert.equal(other.instances.of('one')?.state, 'RUNNING')
  for (const edge of edges) {
    await edge.untilTold('one', 'running')
    const [url = ''] = edge.addressesOf('one')
    assert.equal(await (await fetch(url)).text(), 'hello')
  }
  assert.match(scheduler.writes.join(', '), /^createSecret hl-test-one-\d+-0, createService hl-test-one$/)
  assert.match((await other.lines('environment-of-one')).join(), /^START: Deployment one starts: build \S+\.$/)
})

test('an app that runs already is not started twice', async (t) => {
  const { leader, other, scheduler } = await open(t)
  await leader.instances.start(request('one'), { signal })
  await other.instances.start(request('one'), { signal })
  assert.equal(scheduler.writes.length, 2)
})

test('variables are sealed in the row, reach the program, and cannot replace what the service decides', async (t) => {
  const { leader, sql, scheduler } = await open(t)
  const variables = { TOKEN: 'a secret of the app', PORT: '80', PATH: '/own' }
  await leader.instances.start(request('one', { variables }), { signal })
  const row = JSON.stringify(await rowOf(sql, 'one'))
  assert.equal(row.includes('a secret'), false)
  const [text = ''] = scheduler.secrets()
  assert.match(text, /TOKEN='a secret of the app'/)
  assert.match(text, /PORT='3000'/)
  assert.doesNotMatch(text, /export PATH=/)
})

test('a program that ends at its start is named with its exit code, and nothing of it is left', async (t) => {
  const { leader, other, scheduler } = await open(t)
  scheduler.behave('one', 'crashes')
  const started = other.instances.start(request('one'), { signal })
  await assert.rejects(started, isReason('START_CRASHED', /ended with exit code 7 before it answered/))
  await until(() => scheduler.services().length === 0, 'the service is gone')
  await until(() => !other.instances.holds('one'), 'the app is gone')
  assert.equal(other.instances.of('one'), undefined)
  const written = await other.lines('environment-of-one')
  assert.deepEqual(written.at(-1), 'ENDED: Deployment one did not come up.')
  assert.ok(
    (await leader.lines('environment-of-one')).includes('ENDED: The app ended with exit code 7 before it answered.'),
  )
})

test('a program that listens and does not answer is named', async (t) => {
  const { other, scheduler } = await open(t, { startDeadlineMs: 1500 })
  scheduler.behave('one', 'mute')
  const started = other.instances.start(request('one'), { signal })
  await assert.rejects(started, isReason('START_TIMEOUT', /listens but did not answer within 2 s/))
})

test('a region without nodes and an image that is missing are named', async (t) => {
  const { other, scheduler } = await open(t, {
    regionOf: async (environment) => (environment === 'far' ? 'US-C' : 'EU-W'),
  })
  const far = other.instances.start(request('far', { owner: { account: 'acme', environment: 'far' } }), { signal })
  await assert.rejects(far, isReason('NOT_READY', /No node of the cluster is in the region US-C/))
  scheduler.behave('one', 'imageless')
  const imageless = other.instances.start(request('one'), { signal })
  await assert.rejects(
    imageless,
    isReason('IMAGE_REGISTRY_FAILED', /could not get the image of the app: No such image/),
  )
})

test('a start that is given up leaves nothing', async (t) => {
  const { other, scheduler } = await open(t)
  scheduler.behave('one', 'mute')
  const giving = new AbortController()
  const started = other.instances.start(request('one'), { signal: giving.signal })
  await until(() => scheduler.services().length === 1, 'its service is there')
  giving.abort(new Error('given up'))
  await assert.rejects(started, /given up/)
  await until(() => scheduler.services().length === 0, 'the service is gone')
})

test('an app without visitors sleeps, a visitor at an edge of another process wakes it', async (t) => {
  const { leader, other, stateOf } = await open(t, { idleMs: 2000 })
  const edge = await other.edge()
  await leader.instances.start(request('one'), { signal })
  await edge.untilTold('one', 'running')
  await edge.untilTold('one', 'asleep')
  assert.equal(stateOf('one'), 'ASLEEP')
  await until(
    async () => (await leader.lines('environment-of-one')).some((line) => /^ASLEEP/.test(line)),
    'its log says so',
  )
  edge.notify('wake', 'one')
  await edge.untilTold('one', 'running')
})

test('visits keep an app awake', async (t) => {
  const { leader, other, stateOf } = await open(t, { idleMs: 2000 })
  const edge = await other.edge()
  await leader.instances.start(request('one'), { signal })
  await leader.instances.start(request('two'), { signal })
  await edge.untilTold('two', 'running')
  const visiting = setInterval(() => edge.notify('activity', { one: 1 }), 100)
  t.after(() => clearInterval(visiting))
  await edge.untilTold('two', 'asleep')
  assert.equal(stateOf('one'), 'RUNNING')
})

test('of the awake apps of an account, the one unvisited for longest makes way, and its log says so', async (t) => {
  const { leader, other, stateOf } = await open(t, { awakeLimits: { apps: 2, memoryBytes: 0 } })
  const edge = await other.edge()
  for (const name of ['one', 'two']) await leader.instances.start(request(name), { signal })
  edge.notify('activity', { one: 1 })
  await other.instances.start(request('three'), { signal })
  const { apps, memoryBytes } = await other.instances.awake('acme')
  assert.deepEqual({ apps, memoryBytes }, { apps: 2, memoryBytes: 0 })
  const asleep = ['one', 'two'].filter((name) => stateOf(name) === 'ASLEEP')
  assert.equal(asleep.length, 1)
  const [displaced = ''] = asleep
  const lines = await other.lines(`environment-of-${displaced}`)
  assert.deepEqual(lines.at(-1), 'ASLEEP: Another app of the account took its place: it sleeps until the next visitor.')
  await other.instances.warmUp(displaced)
  assert.equal(stateOf(displaced), 'ASLEEP', 'a start without a visitor takes no place')
})

test('a start for which no app of the account can make way is refused, and leaves nothing', async (t) => {
  const awakeLimits = { apps: 1, memoryBytes: 0 }
  const { leader, sql, scheduler } = await open(t, { awakeLimits })
  const short = await openProcess(t, { sql, awakeLimits, startDeadlineMs: 1000 })
  scheduler.behave('one', 'mute')
  const giving = new AbortController()
  const first = leader.instances.start(request('one'), { signal: giving.signal })
  await until(() => leader.instances.of('one')?.state === 'STARTING', 'it starts')
  // One that starts cannot be put to sleep.
  const second = short.instances.start(request('two'), { signal })
  await assert.rejects(second, isReason('ACCOUNT_LIMIT', /1 apps awake at a time/))
  assert.equal(await rowOf(sql, 'two'), undefined)
  giving.abort(new Error('given up'))
  await assert.rejects(first, /given up/)
})

test('a retired app is gone for edges first, and ends when its requests have', async (t) => {
  const { leader, other, scheduler } = await open(t)
  const edge = await other.edge()
  await leader.instances.start(request('one'), { signal })
  await edge.untilTold('one', 'running')
  const reporting = setInterval(() => edge.notify('load', { one: 1 }), 100)
  t.after(() => clearInterval(reporting))
  let isOver = false
  const retired = leader.instances.retire('one', { isDrained: true }).then(() => {
    isOver = true
  })
  await edge.untilTold('one', undefined)
  assert.equal(leader.instances.of('one'), undefined)
  assert.equal(leader.instances.holds('one'), true)
  // Longer than an app without requests takes to end.
  const quiet = other.instances
    .start(request('two'), { signal })
    .then(() => other.instances.retire('two', { isDrained: true }))
  await quiet
  assert.equal(isOver, false)
  assert.ok(scheduler.services().includes('one'))
  clearInterval(reporting)
  edge.notify('load', {})
  await retired
  assert.equal(leader.instances.holds('one'), false)
  await until(() => scheduler.services().length === 0, 'the service is gone')
})

test('an instance on a node whose firewall is not confirmed is not reported', async (t) => {
  const { leader, other } = await open(t)
  const edge = await other.edge()
  other.confirm('node1', false)
  await leader.instances.start(request('one'), { signal })
  await edge.untilTold('one', 'asleep')
  assert.deepEqual(edge.addressesOf('one'), [])
  other.confirm('node1', true)
  await edge.untilTold('one', 'running')
  other.confirm('node1', false)
  await edge.untilTold('one', 'asleep')
})

test('live apps that are not on record sleep, others end, and those that a process starts are left alone', async (t) => {
  const { leader, other, sql, scheduler, stateOf } = await open(t)
  await leader.instances.start(request('old'), { signal })
  await leader.instances.start(request('new'), { signal })
  // It was started long ago.
  await sql.transaction((tx) => tx.query(statement`UPDATE cluster_apps SET hold_time = 0 WHERE deployment = 'old'`))
  assert.deepEqual(await other.instances.adopt([request('live')]), ['live'])
  await until(() => !leader.instances.holds('old'), 'the old one is gone')
  assert.equal(stateOf('live'), 'ASLEEP')
  assert.equal(stateOf('new'), 'RUNNING')
  assert.deepEqual(await leader.instances.adopt([request('live'), request('new')]), [])
  await leader.instances.warmUp('live')
  assert.equal(stateOf('live'), 'RUNNING')
  assert.deepEqual(scheduler.services().toSorted(), ['live', 'new'])
})

test('an app that was retired a moment ago does not come back by a list of live ones that is older', async (t) => {
  const { leader, other } = await open(t)
  await leader.instances.start(request('one'), { signal })
  await leader.instances.retire('one')
  assert.deepEqual(await other.instances.adopt([request('one')]), [])
  await other.instances.start(request('one'), { signal })
  assert.equal(other.instances.of('one')?.state, 'RUNNING')
})

test('an app that no process retired is ended by the leader when it is not live', async (t) => {
  const { leader, leading, sql, scheduler } = await open(t, { liveOf: async () => new Set(['live']) })
  for (const name of ['live', 'left', 'starting']) await leader.instances.start(request(name), { signal })
  await leading.stop()
  await sql.transaction((tx) =>
    tx.query(statement`UPDATE cluster_apps SET hold_time = 0 WHERE deployment IN ('live', 'left')`),
  )
  const next = leader.lead({ docker: scheduler.docker, cluster: 'test' })(LEADING)
  t.after(next.stop)
  await until(() => !leader.instances.holds('left'), 'it is gone')
  await until(() => scheduler.services().length === 2, 'its service is gone')
  assert.deepEqual(scheduler.services().toSorted(), ['live', 'starting'])
})

test('a visitor who comes while an app falls asleep gets the instance that is still there', async (t) => {
  const { leader, other, scheduler } = await open(t, { idleMs: 2000 })
  const edge = await other.edge()
  await leader.instances.start(request('one'), { signal })
  await edge.untilTold('one', 'running')
  const [url] = edge.addressesOf('one')
  await edge.untilTold('one', 'asleep')
  edge.notify('wake', 'one')
  await edge.untilTold('one', 'running')
  assert.deepEqual(edge.addressesOf('one'), [url])
  assert.equal(scheduler.writes.length, 2, 'the scheduler was not asked for anything')
})

test('states of apps that another process has started are told', async (t) => {
  const told: string[] = []
  const { leader, other } = await open(t, { onState: ({ deployment }) => void told.push(deployment) })
  const own: string[] = []
  await other.instances.start(request('one', { onState: () => void own.push('one') }), { signal })
  await until(() => leader.instances.of('one')?.state === 'RUNNING', 'the leader knows it')
  assert.ok(own.length > 0)
  assert.ok(told.includes('one'))
})

test('as many instances run as an environment wants at least, also of an app that sleeps', async (t) => {
  const { leader, other } = await open(t, { idleMs: 2000 })
  const edge = await leader.edge()
  await leader.instances.start(request('one'), { signal })
  await other.instances.setScaling('one', { minInstances: 3, maxInstances: 4, requestsPerInstance: 10 })
  await until(() => leader.instances.of('one')?.running === 3, 'three of them run')
  await until(() => edge.addressesOf('one').length === 3, 'the edge knows three')
  await other.instances.setScaling('one', { minInstances: 0, maxInstances: 1, requestsPerInstance: 10 })
  await edge.untilTold('one', 'asleep')
  await other.instances.setScaling('one', { minInstances: 2, maxInstances: 2, requestsPerInstance: 10 })
  await until(() => leader.instances.of('one')?.running === 2, 'two of them run')
})

test('a database that has lost its rows ends no app', async (t) => {
  const { leader, leading, sql, scheduler } = await open(t)
  await leader.instances.start(request('one'), { signal })
  await leading.stop()
  await sql.transaction((tx) => tx.query(statement`DELETE FROM cluster_apps`))
  const next = leader.lead({ docker: scheduler.docker, cluster: 'test' })(LEADING)
  t.after(next.stop)
  // A leader that would end it does so after its first look.
  const before = scheduler.looks()
  await until(() => scheduler.looks() >= before + 4, 'the leader has looked several times')
  assert.deepEqual(scheduler.services(), ['one'])
  // A database that knows apps is believed.
  await leader.instances.start(request('two'), { signal })
  await until(() => scheduler.services().join() === 'two', 'the other one is ended')
})

test('apps that read what was revalidated are told by the number of a purge, and not started again', async (t) => {
  const told: string[] = []
  const { leader, sql, scheduler } = await open(t, {
    tellRevalidated: async (environment) => void told.push(environment),
  })
  const variables = { HEADLAND_NEXT_COHERENCE: 'on' }
  const expiries = async () => JSON.stringify({ began: 1, ended: 2 })
  await leader.instances.start(request('one', { variables, expiries }), { signal })
  await leader.instances.start(request('two'), { signal })
  const before = await rowOf(sql, 'one')
  await leader.instances.refreshExpiries('environment-of-one')
  await leader.instances.refreshExpiries('environment-of-two')
  assert.deepEqual(told, ['environment-of-one'])
  assert.equal((await rowOf(sql, 'one'))?.generation, before?.generation)
  assert.equal(JSON.parse(String(before?.service)).isToldPurges, true)
  assert.equal(scheduler.writes.length, 4)
})

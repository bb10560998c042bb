/** How many instances apps have, and how many apps of an account are awake, by load and by memory. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LEADING } from '../../test/support/leading.ts'
import { openProcess, request, withNotices } from '../../test/support/modules/cluster.ts'
import { migratedSql } from '../../test/support/sql.ts'
import { startScheduler } from '../../test/support/swarm/small-scheduler.ts'
import { until } from '../../test/support/until.ts'
import { createChanges } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { statement } from '../storage/index.ts'
import type { ClusterAppsParts } from './cluster-apps.ts'

const { signal } = new AbortController()
const MIB = 1024 ** 2
const SCALING: resources.Scaling = { minInstances: 0, maxInstances: 3, requestsPerInstance: 10 }
const REPORT_MS = 100

/** A process that leads, and another one. */
async function open(t: TestContext, more: Partial<ClusterAppsParts> = {}) {
  const [first, second] = [createChanges(), createChanges()]
  const sql = withNotices(await migratedSql(t), [first, second])
  const scalePace = { busyMs: 100, calmMs: 100 }
  const leader = await openProcess(t, { sql, changes: first, scalePace, ...more })
  const other = await openProcess(t, { sql, changes: second, scalePace, ...more })
  const leading = leader.lead({ docker: startScheduler(t).docker, cluster: 'test' })(LEADING)
  t.after(() => leading.stop())
  const start = (name: string, change: Parameters<typeof request>[1] = {}) =>
    leader.instances.start(request(name, change), { signal })
  /** Each instance of the app uses so much. */
  async function use(deployment: string, bytes: number) {
    const found = await sql.query<{ instance: string }>(
      statement`SELECT instance FROM cluster_instances WHERE deployment = ${deployment}`,
    )
    await other.setMemory('node1', Object.fromEntries(found.map(({ instance }) => [instance, bytes])))
  }
  const replicasOf = async (deployment: string) => {
    const found = await sql.query<{ replicas: number }>(
      statement`SELECT replicas FROM cluster_apps WHERE deployment = ${deployment}`,
    )
    return found[0]?.replicas
  }
  const running = (deployment: string) => leader.instances.of(deployment)?.running
  const stateOf = (deployment: string) => leader.instances.of(deployment)?.state
  return { sql, leader, other, start, use, replicasOf, running, stateOf }
}

/** What an edge reports from now on. */
async function loadAt(t: TestContext, process: Awaited<ReturnType<typeof openProcess>>, requests: number) {
  const edge = await process.edge()
  let load = requests
  const reporting = setInterval(() => edge.notify('load', { one: load }), REPORT_MS)
  t.after(() => clearInterval(reporting))
  return {
    set(next: number) {
      load = next
    },
    die() {
      clearInterval(reporting)
      edge.close()
    },
  }
}

test('the load of edges of two processes brings up instances, and they go when it is over', async (t) => {
  const { leader, other, start, running, sql } = await open(t)
  await start('one', { scaling: SCALING })
  // Neither of them alone is more than two instances should have.
  const loads = [await loadAt(t, leader, 11), await loadAt(t, other, 10)]
  await until(() => running('one') === 3, 'three instances answer')
  for (const load of loads) load.set(0)
  await until(() => running('one') === 1, 'one instance answers')
  const left = () => sql.query(statement`SELECT process FROM cluster_loads`)
  await until(async () => (await left()).length === 0, 'no load is on record')
})

test('the load of an edge that is gone does not count', async (t) => {
  const { other, start, running } = await open(t)
  await start('one', { scaling: SCALING })
  const load = await loadAt(t, other, 25)
  await until(() => running('one') === 3, 'three instances answer')
  load.die()
  await until(() => running('one') === 1, 'one instance answers')
})

test('other limits apply at once, and change no number that is within them', async (t) => {
  const { leader, other, start, running, replicasOf } = await open(t, { scalePace: { busyMs: 100, calmMs: 600_000 } })
  await start('one', { scaling: SCALING })
  await loadAt(t, other, 25)
  await until(() => running('one') === 3, 'three instances answer')
  await leader.instances.setScaling('one', { ...SCALING, minInstances: 1, maxInstances: 4 })
  assert.equal(await replicasOf('one'), 3)
  await leader.instances.setScaling('one', { ...SCALING, maxInstances: 2 })
  assert.equal(await replicasOf('one'), 2)
  await leader.instances.setScaling('one', { ...SCALING, minInstances: 4, maxInstances: 5 })
  assert.equal(await replicasOf('one'), 4)
})

test('what apps of an account use is told, with all of their instances', async (t) => {
  const { leader, start, use } = await open(t)
  await start('one', { scaling: { ...SCALING, minInstances: 2 } })
  await start('two')
  await until(() => leader.instances.of('one')?.running === 2, 'two instances answer')
  await use('one', 10 * MIB)
  await use('two', 5 * MIB)
  assert.deepEqual(await leader.instances.awake('acme'), {
    apps: 2,
    memoryBytes: 25 * MIB,
    environments: { 'environment-of-one': 20 * MIB, 'environment-of-two': 5 * MIB },
  })
})

test('where memory is short, the app unvisited for longest sleeps for a new one', async (t) => {
  const { other, start, use, stateOf, leader } = await open(t, { awakeLimits: { apps: 0, memoryBytes: 100 * MIB } })
  for (const name of ['one', 'two']) {
    await start(name)
    await use(name, 50 * MIB)
  }
  // It is known from before what it uses.
  await other.instances.start(request('three'), { signal })
  await use('three', 1 * MIB)
  await until(() => stateOf('one') === 'ASLEEP', 'the first one sleeps')
  assert.equal(stateOf('two'), 'RUNNING')
  assert.match((await leader.lines('environment-of-one')).join(), /ASLEEP: Another app of the account took its place/)
})

test('an app that wakes needs as much memory as it used before, and is refused where none may sleep for it', async (t) => {
  const { leader, start, use, stateOf } = await open(t, {
    awakeLimits: { apps: 0, memoryBytes: 100 * MIB },
    startDeadlineMs: 10_000,
  })
  await start('one')
  await use('one', 80 * MIB)
  await start('two')
  await use('two', 30 * MIB)
  await until(() => stateOf('one') === 'ASLEEP', 'the first one sleeps')
  await leader.instances.warmUp('one')
  assert.equal(stateOf('one'), 'ASLEEP')
  assert.match((await leader.lines('environment-of-one')).join(), /ENDED: .*memory/i)
  // A visitor may have another app put to sleep.
  const edge = await leader.edge()
  edge.notify('wake', 'one')
  await edge.untilTold('one', 'running')
  assert.equal(stateOf('two'), 'ASLEEP')
})

test('where apps are too many, one of them sleeps, and others keep their further instances', async (t) => {
  const { start, replicasOf, running, stateOf } = await open(t, { awakeLimits: { apps: 2, memoryBytes: 0 } })
  await start('old')
  await start('one', { scaling: { ...SCALING, minInstances: 2 } })
  await until(() => running('one') === 2, 'two instances answer')
  await start('three')
  assert.equal(stateOf('old'), 'ASLEEP')
  assert.equal(await replicasOf('one'), 2)
})

test('a start that never finds memory is refused with the limit', async (t) => {
  const { leader, start, use, sql } = await open(t, {
    awakeLimits: { apps: 0, memoryBytes: 100 * MIB },
    startDeadlineMs: 1000,
  })
  await start('one')
  await use('one', 120 * MIB)
  // It does not answer, so it cannot sleep.
  await sql.transaction((tx) => tx.query(statement`UPDATE cluster_instances SET is_ready = 0`))
  const started = leader.instances.start(request('two'), { signal })
  await assert.rejects(started, (error) => error instanceof Problem && /memory/i.test(error.message))
})

test('without memory no further instance is added, and the log says so', async (t) => {
  const { leader, other, start, use, replicasOf } = await open(t, { awakeLimits: { apps: 0, memoryBytes: 100 * MIB } })
  await start('one', { scaling: SCALING })
  await use('one', 60 * MIB)
  await loadAt(t, other, 25)
  const lines = async () => (await leader.lines('environment-of-one')).join()
  await until(async () => /SCALING: There is no memory for a further instance/.test(await lines()), 'its log says so')
  assert.equal(await replicasOf('one'), 1)
})

test('of an account that uses too much, a further instance goes before any app sleeps', async (t) => {
  const { start, use, replicasOf, running, stateOf } = await open(t, {
    awakeLimits: { apps: 0, memoryBytes: 100 * MIB },
    idleMs: 600_000,
  })
  await start('old')
  await start('one', { scaling: { ...SCALING, minInstances: 2 } })
  await until(() => running('one') === 2, 'two instances answer')
  await use('old', 20 * MIB)
  await use('one', 45 * MIB)
  await until(async () => (await replicasOf('one')) === 1, 'one instance less')
  assert.equal(stateOf('old'), 'RUNNING')
})

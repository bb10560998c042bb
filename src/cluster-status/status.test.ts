import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LEADING } from '../../test/support/leading.ts'
import { openProcess, request } from '../../test/support/modules/cluster.ts'
import { migratedSql } from '../../test/support/sql.ts'
import { startScheduler } from '../../test/support/swarm/small-scheduler.ts'
import { until } from '../../test/support/until.ts'
import { createChanges, createLog, processName, systemClock } from '../base/index.ts'
import { createPurgeLog } from '../deployments/index.ts'
import { createNodeRecords } from '../nodes/index.ts'
import type { OperationAtWork } from '../operations/index.ts'
import { createLoneElection, type Sql } from '../storage/index.ts'
import { createProcessRecords, type ProcessRow, recordProcess } from './process-records.ts'
import { readStatus } from './status.ts'

const { signal } = new AbortController()

const WORK: OperationAtWork = {
  ...{ id: 'o1', owner: '', queue: 'build', trigger: 'UPLOAD', phase: 'BUILDING' },
  ...{ account: 'a1', app: 'blog', environment: 'e1' },
}

const read = (sql: Sql, working: OperationAtWork[] = []) =>
  readStatus({ sql, clock: systemClock, version: '1.2.0', isShared: true, atWork: async () => working })

async function startApps(t: TestContext) {
  const sql = await migratedSql(t)
  const { docker } = startScheduler(t)
  const apps = await openProcess(t, { sql, changes: createChanges() })
  const leading = apps.lead({ docker, cluster: 'test' })(LEADING)
  t.after(() => leading.stop())
  return { sql, apps }
}

test('a node has the number of its instances, and what they may use of its memory', async (t) => {
  const { sql, apps } = await startApps(t)
  for (const deployment of ['one', 'two']) await apps.instances.start(request(deployment), { signal })
  const records = createNodeRecords({ sql, changes: createChanges() })
  const connection = { name: 'berlin-1', process: 'p', connection: 1, control: 'c' }
  const facts = { hostname: 'berlin-1', address: '10.0.0.1', memoryBytes: 8, engine: '28', version: '1.2.0' }
  await records.join({ ...facts, id: 'node1' }, connection)
  const { nodes } = await read(sql)
  assert.deepEqual(
    nodes.map(({ instances, promisedBytes }) => ({ instances, promisedBytes })),
    [{ instances: 2, promisedBytes: 2 * request('one').limits.memoryBytes }],
  )
})

test('a worker is shown while it has nothing to do, with what it builds, and no more after its stop', async (t) => {
  const sql = await migratedSql(t)
  const facts = { process: processName(), host: 'builder-1', places: 2, version: '1.2.0' }
  const row = { ...facts, role: 'worker' as const }
  const recorded = recordProcess({ sql, clock: systemClock, log: createLog('silent'), row })
  const [idle] = await until(async () => {
    const { workers } = await read(sql)
    return workers.length > 0 && workers
  }, 'the worker is on record')
  assert.deepEqual({ ...idle, silentMs: 0 }, { ...facts, silentMs: 0, builds: 0 })
  // The part of it that claims operations has a name of its own.
  const { workers } = await read(sql, [{ ...WORK, owner: processName() }])
  assert.deepEqual(
    workers.map(({ builds }) => builds),
    [1],
  )
  await recorded.stop()
  assert.deepEqual((await read(sql)).workers, [])
})

test('a process that builds and is not on record is a worker, too; quick operations make none', async (t) => {
  const sql = await migratedSql(t)
  const { workers } = await read(sql, [
    { ...WORK, owner: 'm 1 1 a' },
    { ...WORK, id: 'o2', owner: 'm 2 1 a', queue: 'quick' },
  ])
  assert.deepEqual(workers, [{ process: 'm 1 1 a', host: '', places: null, version: '', silentMs: 0, builds: 1 }])
})

test('a worker that was lost is forgotten after an hour', async (t) => {
  const records = createProcessRecords(await migratedSql(t))
  const worker: ProcessRow = {
    ...{ process: 'lost', role: 'worker', host: 'builder-1', places: 1, version: '1' },
    seenTime: 1_000_000,
  }
  await records.see(worker)
  await records.see({ ...worker, process: 'other', seenTime: 1_000_000 + 3_600_000 })
  assert.equal((await records.all()).length, 2)
  await records.see({ ...worker, process: 'other', seenTime: 1_000_000 + 3_600_001 })
  assert.deepEqual(
    (await records.all()).map(({ process }) => process),
    ['other'],
  )
})

test('the leader is the control process of its host and id, and has no other host', async (t) => {
  const sql = await migratedSql(t)
  const purges = createPurgeLog({ sql, clock: systemClock, changes: createChanges() })
  const records = createProcessRecords(sql)
  const facts = { role: 'control' as const, places: 0, version: '1.2.0', seenTime: systemClock.now() }
  for (const [process, host] of [
    ['boot1 7 1', 'control-1'],
    ['boot2 7 1', 'control-2'],
  ] as const) {
    await purges.heartbeat({ process: `${process} a`, heartbeats: 1 }, [])
    await records.see({ ...facts, process: `${process} b`, host })
  }
  await createLoneElection({ sql, clock: systemClock }).run('control-2 7 token')
  const { controls, leader } = await read(sql)
  assert.equal(leader?.holder, 'control-2 7 token')
  assert.deepEqual(
    controls.map(({ host, isLeading }) => ({ host, isLeading })).toSorted((a, b) => a.host.localeCompare(b.host)),
    [
      { host: 'control-1', isLeading: false },
      { host: 'control-2', isLeading: true },
    ],
  )
})

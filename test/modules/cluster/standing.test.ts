/** When a control process may grant leases, and when another one is removed, with a clock that the test moves. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createChanges, createLog } from '../../../src/base/index.ts'
import { createPurgeLog } from '../../../src/deployments/index.ts'
import type { EdgeConnection, EdgeRecords } from '../../../src/edge/index.ts'
import { createStanding } from '../../../src/edge/process/standing.ts'
import { handClock } from '../../support/clock.ts'
import { migratedSql } from '../../support/sql.ts'
import { until } from '../../support/until.ts'

const LEASE_MS = 5000
const CHECK_MS = 1000

async function setUp(t: TestContext) {
  const sql = await migratedSql(t)
  const clock = handClock()
  const records = createPurgeLog({ sql, clock, changes: createChanges() })

  async function start(control: string, edges: EdgeConnection[] = []) {
    let [heartbeats, checks, isAway, isStopped] = [0, 0, false, false]
    const own: EdgeRecords = {
      ...records,
      async controls() {
        // A process that is stopped gets no answer before it continues.
        await until(() => !isStopped)
        if (isAway) throw new Error('the database is away')
        return records.controls()
      },
      async edges() {
        const found = await records.edges()
        checks++
        return found
      },
      heartbeat(...args) {
        heartbeats++
        return records.heartbeat(...args)
      },
    }
    const standing = await createStanding({
      ...{ clock, log: createLog('silent'), records: own, control, leaseMs: LEASE_MS, now: clock.now },
      edges: () => edges,
      isKnown: (process) => edges.some((edge) => edge.process === process),
    })
    t.after(() => standing.stop())
    return {
      ...standing,
      heartbeats: () => heartbeats,
      checks: () => checks,
      setAway: (is: boolean) => {
        isAway = is
      },
      setStopped: (is: boolean) => {
        isStopped = is
      },
    }
  }

  /** Time passes, and those that are not stopped look who is there. */
  async function pass(ms: number, ...running: { checks(): number }[]) {
    for (let passed = 0; passed < ms; passed += CHECK_MS) {
      const before = running.map(({ checks }) => checks())
      await until(() => clock.sleeping() >= running.length)
      await clock.advance(CHECK_MS)
      await until(() => running.every(({ checks }, at) => checks() > (before[at] ?? 0)))
    }
  }
  const controls = async () => (await records.controls()).map(({ process }) => process).toSorted()
  const edgesOnRecord = async () => (await records.edges()).map(({ process }) => process).toSorted()
  return { records, start, pass, clock, controls, edgesOnRecord }
}

test('one control process alone writes nothing, and may always grant a lease', async (t) => {
  const { start, pass } = await setUp(t)
  const alone = await start('a')
  await pass(60_000, alone)
  assert.equal(alone.heartbeats(), 1)
  assert.ok(alone.grantMs() >= LEASE_MS - 2 * CHECK_MS)
})

test('two control processes see each other, and neither is removed', async (t) => {
  const { start, pass, controls } = await setUp(t)
  const [a, b] = [await start('a'), await start('b')]
  await pass(30_000, a, b)
  assert.deepEqual(await controls(), ['a', 'b'])
  for (const one of [a, b]) {
    assert.ok(one.heartbeats() > 20)
    assert.ok(one.grantMs() >= LEASE_MS - 2 * CHECK_MS)
  }
})

test('without the database, the last lease that may be granted ends with the last success', async (t) => {
  const { start, clock } = await setUp(t)
  const alone = await start('a')
  alone.setAway(true)
  await clock.advance(LEASE_MS - 1)
  assert.equal(alone.grantMs(), 1)
  await clock.advance(1)
  assert.equal(alone.grantMs(), 0)
})

test('a silent control process is removed with its edges after a lease, and not before', async (t) => {
  const { start, pass, controls, edgesOnRecord } = await setUp(t)
  const a = await start('a')
  const gone = await start('b')
  await gone.add({ process: 'e', connection: 1 })
  await gone.stop()
  await pass(LEASE_MS, a)
  assert.deepEqual([await controls(), await edgesOnRecord()], [['a', 'b'], ['e']])
  await pass(3 * CHECK_MS, a)
  assert.deepEqual([await controls(), await edgesOnRecord()], [['a'], []])
})

test('one that was removed while it was stopped records its edges again, and does not remove the one that was alone', async (t) => {
  const { start, pass, clock, controls, edgesOnRecord } = await setUp(t)
  const edge = { process: 'e', connection: 1 }
  const a = await start('a', [{ process: 'f', connection: 1 }])
  await a.add({ process: 'f', connection: 1 })
  const stopped = await start('b', [edge])
  await stopped.add(edge)
  await pass(2 * CHECK_MS, a, stopped)
  stopped.setStopped(true)
  await pass(2 * LEASE_MS, a)
  assert.deepEqual([await controls(), await edgesOnRecord()], [['a'], ['f']])
  // Alone again, it writes nothing: its heartbeats are those that the other one has seen last.
  const before = a.heartbeats()
  await pass(2 * LEASE_MS, a)
  assert.equal(a.heartbeats(), before)
  assert.equal(stopped.grantMs(), 0)
  stopped.setStopped(false)
  await until(async () => (await controls()).length === 2)
  assert.deepEqual(
    [await controls(), await edgesOnRecord()],
    [
      ['a', 'b'],
      ['e', 'f'],
    ],
  )
  await pass(2 * LEASE_MS, a, stopped)
  assert.deepEqual(await controls(), ['a', 'b'])
  assert.ok(clock.now() > 0 && stopped.grantMs() > 0)
})

test('an edge on record that its control process does not know any more is removed', async (t) => {
  const { records, start, pass, edgesOnRecord } = await setUp(t)
  const a = await start('a')
  await records.heartbeat({ process: 'a', heartbeats: 99 }, [], { process: 'e', connection: 1 })
  await pass(2 * CHECK_MS, a)
  assert.deepEqual(await edgesOnRecord(), [])
})

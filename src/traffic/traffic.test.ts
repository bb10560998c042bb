import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { HandClock } from '../../test/support/clock.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { until } from '../../test/support/until.ts'
import { createLog } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import { type Sql, StorageUnavailable, statement } from '../storage/index.ts'
import type { Counts } from './counts.ts'
import { HOUR_MS, MINUTE_MS } from './steps.ts'
import { createTraffic } from './traffic.ts'

const BOUNDS_MS = [1, 2, 4]
const some = (requests: number, more: Partial<Counts> = {}): Counts => ({
  requests,
  hits: 0,
  bytes: requests * 10,
  errors: 0,
  statuses: [requests, 0, 0],
  latencies: [requests],
  ...more,
})

const NONE = {
  requests: 0,
  hits: 0,
  bytes: 0,
  errors: 0,
  status2xx: 0,
  status3xx: 0,
  status4xx: 0,
  p50Ms: 0,
  p95Ms: 0,
}

async function setUp(t: TestContext, sqlOf: (sql: Sql) => Sql = (sql) => sql) {
  const modules = await openCoreModules(t)
  const { sql, clock, accounts, apps, environments, newId } = modules
  const account = await accounts.create('agency')
  const app = await apps.create(account.id, 'shop', 'regions/UK')
  const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x', rootDirectory: '', variables: [] }
  async function environment() {
    const id = newId()
    await sql.transaction((tx) => environments.insert(tx, { id: app.id, accountId: account.id }, id, draft))
    return { account: 'agency', app: 'shop', environment: id }
  }
  const existingEnvironments = environments.existing
  const parts = { sql: sqlOf(sql), clock, log: createLog('silent'), boundsMs: BOUNDS_MS, existingEnvironments }
  const open = () => {
    const traffic = createTraffic(parts)
    traffic.start()
    t.after(() => traffic.stop())
    return traffic
  }
  // The clock is set to the beginning of an hour.
  await clock.advance(HOUR_MS - (clock.now() % HOUR_MS))
  const rows = () =>
    sql.query<{ environment_id: string; step_seconds: number; start_time: number; counts: string }>(
      statement`SELECT * FROM traffic ORDER BY environment_id, step_seconds, start_time`,
    )
  return { ...modules, environment, open, rows }
}

/** Moves the clock once the writer waits for it: it writes in a thread, and its rows are visible before it waits again. */
async function pass(clock: HandClock, ms: number) {
  await until(() => clock.sleeping())
  await clock.advance(ms)
}

const busy = ({ points }: resources.Traffic) => points.filter(({ requests }) => requests > 0)

test('counts are shown while their minute goes on, and as many when it is over', async (t) => {
  const { clock, environment, open, rows } = await setUp(t)
  const [at, other] = [await environment(), await environment()]
  const traffic = open()
  traffic.receive({ [at.environment]: some(2), [other.environment]: some(5) })
  await pass(clock, 10_000)
  traffic.receive({ [at.environment]: some(1, { hits: 1, errors: 1, statuses: [0, 0, 1], latencies: [0, 0, 1] }) })
  for (const range of ['1h', '24h', '7d', '30d'] as const) {
    const { totals, points, stepSeconds } = await traffic.read(at, range)
    assert.deepEqual(
      totals,
      { ...NONE, requests: 3, hits: 1, bytes: 30, status2xx: 2, status4xx: 1, errors: 1, p50Ms: 0.8, p95Ms: 3.7 },
      range,
    )
    assert.equal(points.at(-1)?.requests, 3)
    assert.equal(new Date(points.at(-1)?.time ?? 0).getTime() % (stepSeconds * 1000), 0)
  }
  assert.deepEqual(await rows(), [])
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 4)
  for (const range of ['1h', '24h', '7d', '30d'] as const) {
    assert.equal((await traffic.read(at, range)).totals.requests, 3, range)
    assert.equal((await traffic.read(other, range)).totals.requests, 5, range)
  }
})

test('the last minute and the current one of several environments are read at once, written or not', async (t) => {
  const { clock, environment, open, rows } = await setUp(t)
  const [at, other] = [await environment(), await environment()]
  const traffic = open()
  const requestsOf = async ({ environment: id }: typeof at) =>
    (await traffic.recent([at.environment, other.environment])).get(id)?.map(({ requests }) => requests)
  traffic.receive({ [at.environment]: some(2) })
  assert.deepEqual(await requestsOf(at), [0, 2])
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 2)
  traffic.receive({ [at.environment]: some(3), [other.environment]: some(5) })
  assert.deepEqual(
    [await requestsOf(at), await requestsOf(other)],
    [
      [2, 3],
      [0, 5],
    ],
  )
  await pass(clock, MINUTE_MS)
  assert.deepEqual(
    [await requestsOf(at), await requestsOf(other)],
    [
      [3, 0],
      [5, 0],
    ],
  )
  assert.equal((await traffic.recent([])).size, 0)
})

test('each range has all of its points, the oldest first, without a gap', async (t) => {
  const { clock, environment, open } = await setUp(t)
  const at = await environment()
  const traffic = open()
  const expected = { '1h': [60, 60], '24h': [600, 144], '7d': [3600, 168], '30d': [14_400, 180] }
  for (const [range, [step = 0, count]] of Object.entries(expected)) {
    const { stepSeconds, points, totals } = await traffic.read(at, range as resources.TrafficRange)
    assert.equal(stepSeconds, step)
    assert.equal(points.length, count)
    const times = points.map(({ time }) => Date.parse(time))
    assert.ok(times.every((time, index) => index === 0 || time - (times[index - 1] ?? 0) === step * 1000))
    assert.ok((times.at(-1) ?? 0) <= clock.now() && clock.now() < (times.at(-1) ?? 0) + step * 1000)
    assert.deepEqual(totals, NONE)
  }
})

test('minutes add up to their hour, and one row is written for each environment and minute', async (t) => {
  const { clock, environment, open, rows } = await setUp(t)
  const at = await environment()
  const traffic = open()
  for (let minute = 0; minute < 3; minute++) {
    traffic.receive({ [at.environment]: some(minute + 1) })
    await pass(clock, MINUTE_MS)
    await until(async () => (await rows()).filter(({ step_seconds }) => step_seconds === 60).length === minute + 1)
  }
  const hours = (await rows()).filter(({ step_seconds }) => step_seconds === 3600)
  assert.deepEqual(
    hours.map(({ counts }) => JSON.parse(counts)),
    [[6, 0, 60, 0, [6, 0, 0], 6]],
  )
  assert.deepEqual(
    busy(await traffic.read(at, '1h')).map(({ requests }) => requests),
    [1, 2, 3],
  )
  assert.equal(busy(await traffic.read(at, '7d')).length, 1)
})

test('a stop in the middle of a minute loses nothing, and the next start counts on', async (t) => {
  const { environment, open, rows } = await setUp(t)
  const at = await environment()
  const before = open()
  before.receive({ [at.environment]: some(2) })
  await before.stop()
  assert.equal((await rows()).length, 2)
  const after = open()
  assert.equal((await after.read(at, '1h')).totals.requests, 2)
  after.receive({ [at.environment]: some(3) })
  assert.equal((await after.read(at, '1h')).totals.requests, 5)
  await after.stop()
  assert.deepEqual(
    (await rows()).map(({ counts }) => JSON.parse(counts)[0]),
    [5, 5],
  )
})

test('a database that is away delays the counts, and neither loses nor doubles them', async (t) => {
  let isAway = false
  const { clock, environment, open, rows } = await setUp(t, (sql) => ({
    ...sql,
    transaction: (work) => (isAway ? Promise.reject(new StorageUnavailable('away')) : sql.transaction(work)),
  }))
  const at = await environment()
  const traffic = open()
  traffic.receive({ [at.environment]: some(2) })
  isAway = true
  await pass(clock, MINUTE_MS)
  assert.equal((await traffic.read(at, '1h')).totals.requests, 2)
  assert.equal((await rows()).length, 0)
  isAway = false
  traffic.receive({ [at.environment]: some(1) })
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 3)
  assert.equal((await traffic.read(at, '24h')).totals.requests, 3)
})

test('minutes are removed after a day and hours after a month', async (t) => {
  const { clock, environment, open, rows } = await setUp(t)
  const [at, other] = [await environment(), await environment()]
  const traffic = open()
  const steps = async () => (await rows()).map(({ step_seconds }) => step_seconds).sort((a, b) => a - b)
  traffic.receive({ [at.environment]: some(1) })
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 2)

  await pass(clock, 26 * HOUR_MS)
  traffic.receive({ [other.environment]: some(1) })
  await pass(clock, MINUTE_MS)
  await until(async () => (await steps()).join() === '60,3600,3600')
  assert.equal((await traffic.read(at, '24h')).totals.requests, 0)
  assert.equal((await traffic.read(at, '7d')).totals.requests, 1)

  await pass(clock, 31 * 24 * HOUR_MS)
  traffic.receive({ [other.environment]: some(1) })
  await pass(clock, MINUTE_MS)
  await until(async () => (await steps()).join() === '60,3600')
})

test('nothing is written for a deleted environment, and its counts are deleted with it', async (t) => {
  const { sql, clock, environments, environment, open, rows } = await setUp(t)
  const [at, other] = [await environment(), await environment()]
  const traffic = open()
  traffic.receive({ [at.environment]: some(1), [other.environment]: some(1) })
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 4)
  await sql.transaction((tx) => environments.remove(tx, at.environment))
  assert.equal((await rows()).length, 2)
  traffic.receive({ [at.environment]: some(1), [other.environment]: some(1) })
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 3)
  assert.ok((await rows()).every(({ environment_id }) => environment_id === other.environment))
})

test('counts of an earlier version are read, without classes of statuses, and added to', async (t) => {
  const { sql, clock, environment, open, rows } = await setUp(t)
  const at = await environment()
  const start = clock.now()
  await sql.transaction((tx) =>
    tx.query(statement`INSERT INTO traffic (environment_id, step_seconds, start_time, counts)
      VALUES (${at.environment}, 60, ${start}, '[5,1,50,2,3,2]')`),
  )
  const traffic = open()
  traffic.receive({ [at.environment]: some(1) })
  const { totals } = await traffic.read(at, '1h')
  assert.deepEqual([totals.requests, totals.errors, totals.status2xx], [6, 2, 1])
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 2)
  assert.deepEqual(JSON.parse((await rows())[0]?.counts ?? ''), [6, 1, 60, 2, [1, 0, 0], 4, 2])
})

test('a summary has the last day of the environments that it is asked for, written or not, and of no other', async (t) => {
  const { clock, environment, open, rows } = await setUp(t)
  const [busyOne, quiet, other] = [await environment(), await environment(), await environment()]
  const traffic = open()
  traffic.receive({ [busyOne.environment]: some(4, { hits: 3, errors: 1 }), [other.environment]: some(9) })
  const expected = [4, 3, 1]
  const summary = async () => {
    const found = await traffic.summaries([busyOne, quiet])
    assert.equal(found.length, 1)
    const [{ environment: name = '', requests = [], hits = [], errors = [] } = {}] = found
    assert.ok(name.endsWith(busyOne.environment))
    assert.deepEqual([requests.length, hits.length, errors.length], [24, 24, 24])
    return [requests, hits, errors].map((hours) => hours.reduce((sum, hour) => sum + hour, 0))
  }
  assert.deepEqual(await summary(), expected, 'while its minute goes on')
  await pass(clock, MINUTE_MS)
  await until(async () => (await rows()).length === 4)
  assert.deepEqual(await summary(), expected, 'and when it is written')
  await pass(clock, 24 * HOUR_MS)
  assert.deepEqual(await traffic.summaries([busyOne, quiet]), [], 'a day later it is gone')
})

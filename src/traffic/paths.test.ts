import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { maskPath } from '../base/index.ts'
import { statement } from '../storage/index.ts'
import { createTrafficPaths, forgetTrafficPaths, PATH_LIMITS } from './paths.ts'
import { HOUR_MS, MINUTE_MS } from './steps.ts'

const DAY_MS = 24 * HOUR_MS

async function setUp(t: TestContext) {
  const modules = await openCoreModules(t)
  const { sql, clock, accounts, apps, environments, newId } = modules
  const account = await accounts.create('agency')
  const app = await apps.create(account.id, 'shop', 'regions/UK')
  const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x', rootDirectory: '', variables: [] }
  async function environment() {
    const id = newId()
    await sql.transaction((tx) => environments.insert(tx, { id: app.id, accountId: account.id }, id, draft))
    return id
  }
  // The clock is set to the beginning of a day.
  await clock.advance(DAY_MS - (clock.now() % DAY_MS))
  const rows = () =>
    sql.query<{ environment_id: string; step_seconds: number; counts: string }>(
      statement`SELECT environment_id, step_seconds, counts FROM traffic_paths ORDER BY environment_id, step_seconds`,
    )
  const open = (limits = PATH_LIMITS) =>
    createTrafficPaths({ sql, clock, limits, existingEnvironments: environments.existing })
  return { ...modules, environment, rows, open }
}

test('paths add up while they wait and when they are written, for each range', async (t) => {
  const { clock, open, environment, rows } = await setUp(t)
  const id = await environment()
  const paths = open()
  paths.receive(id, { found: [['/', 3]], missing: [['/old', 1]] })
  await paths.write()
  assert.deepEqual(await rows(), [], 'it waits for some minutes')
  await clock.advance(5 * MINUTE_MS)
  await paths.write()
  assert.deepEqual(
    (await rows()).map(({ step_seconds }) => step_seconds),
    [3600, 86_400],
  )
  paths.receive(id, {
    found: [
      ['/news', 4],
      ['/', 2],
    ],
    missing: [],
  })
  for (const range of ['1h', '24h', '7d', '30d'] as const) {
    assert.deepEqual(
      await paths.read(id, range),
      {
        found: [
          { path: '/', requests: 5 },
          { path: '/news', requests: 4 },
        ],
        missing: [{ path: '/old', requests: 1 }],
      },
      range,
    )
  }
  await paths.write({ isLast: true })
  assert.equal((await rows()).length, 2)
  assert.deepEqual((await open().read(id, '1h')).found[0], { path: '/', requests: 5 })
})

test('hours are removed after a day and days after a month, and all counts with their environment', async (t) => {
  const { sql, clock, open, environments, environment, rows } = await setUp(t)
  const [id, other] = [await environment(), await environment()]
  const paths = open()
  for (const each of [id, other]) paths.receive(each, { found: [['/', 1]], missing: [] })
  await paths.write({ isLast: true })
  await sql.transaction((tx) => environments.remove(tx, other))
  assert.equal((await rows()).length, 2)
  paths.receive(other, { found: [['/', 1]], missing: [] })
  await clock.advance(26 * HOUR_MS)
  await paths.write()
  assert.deepEqual(
    (await rows()).map(({ step_seconds }) => step_seconds),
    [86_400],
  )
  assert.deepEqual([(await paths.read(id, '24h')).found, (await paths.read(id, '7d')).found.length], [[], 1])
  await clock.advance(31 * DAY_MS)
  await paths.write()
  assert.deepEqual(await rows(), [])
})

test('a site with any number of paths takes a few kilobytes of memory and of the database', async (t) => {
  const { open, environment, rows } = await setUp(t)
  const ids = [await environment(), await environment()]
  const paths = open({ ...PATH_LIMITS, waiting: 150 })
  for (let round = 0; round < 200; round++) {
    const pairs = Array.from({ length: 64 }, (_, index) => [`/${'p'.repeat(190)}-${round}-${index}`, 1] as const)
    for (const id of ids) paths.receive(id, { found: [['/', 2], ...pairs], missing: pairs })
  }
  await paths.write({ isLast: true })
  for (const { counts } of await rows()) {
    const { found, missing } = JSON.parse(counts)
    assert.ok(found.length <= PATH_LIMITS.written && missing.length <= PATH_LIMITS.written)
    assert.ok(counts.length < 15_000)
  }
  const { found } = await paths.read(ids[0] ?? '', '1h')
  assert.deepEqual([found.length <= PATH_LIMITS.shown, found[0]], [true, { path: '/', requests: 400 }])
})

test('what looks like an id, an address or a secret is masked before it is kept', async (t) => {
  const cases: [string, string][] = [
    ['/news/2026/a-long-title-of-a-post-with-17-words-in-it', '/news/2026/a-long-title-of-a-post-with-17-words-in-it'],
    ['/products/1234', '/products/1234'],
    ['/archive/20260131', '/archive/20260131'],
    ['/orders/0190b8a2-5d0e-7c9e-8f5e-0123456789ab/pay', '/orders/{id}/pay'],
    ['/call/4915112345678', '/call/{id}'],
    ['/reset/9f86d081884c7d659a2feaa0c55ad015', '/reset/{token}'],
    ['/invite/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', '/invite/{token}'],
    ['/unsubscribe/jane%40example.com', '/unsubscribe/{email}'],
    ['/unsubscribe/jane@example.com', '/unsubscribe/{email}'],
  ]
  for (const [path, masked] of cases) assert.equal(maskPath(path), masked)
  const { open, environment, rows } = await setUp(t)
  const paths = open()

  test('a very long segment is masked in linear time', () => {
    const path = `/${'a'.repeat(1_000_000)}`
    assert.equal(maskPath(path), path)
  })
  paths.receive(await environment(), {
    found: [
      ['/reset/9f86d081884c7d659a2feaa0c55ad015', 1],
      ['/reset/9f86d081884c7d659a2feaa0c55ad016', 2],
    ],
    missing: [['/unsubscribe/jane@example.com', 1]],
  })
  await paths.write({ isLast: true })
  for (const { counts } of await rows()) {
    assert.deepEqual(JSON.parse(counts), { found: [['/reset/{token}', 3]], missing: [['/unsubscribe/{email}', 1]] })
  }
})

test('when the counting is switched off, earlier counts are removed', async (t) => {
  const { sql, open, environment, rows } = await setUp(t)
  const paths = open()
  paths.receive(await environment(), { found: [['/', 1]], missing: [] })
  await paths.write({ isLast: true })
  assert.equal((await rows()).length, 2)
  await forgetTrafficPaths(sql)
  assert.deepEqual(await rows(), [])
})

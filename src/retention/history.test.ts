import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openModules } from '../../test/support/modules/deployments.ts'
import { statement } from '../storage/index.ts'
import { createForget } from './history.ts'
import { createRetain } from './retain.ts'

async function setUp(t: TestContext, keepHistory = 3) {
  const modules = await openModules(t)
  const { sql } = modules
  const retain = createRetain({ ...modules, keepDeployments: 1 })
  const forget = createForget({ ...modules, keepHistory })
  const shop = await modules.environment()
  const idsIn = async (table: ReturnType<typeof statement>, environmentId = shop.id) =>
    (
      await sql.query<{ id: string }>(
        statement`SELECT id FROM ${table} WHERE environment_id = ${environmentId} ORDER BY id`,
      )
    ).map(({ id }) => id)
  const history = async () => ({
    builds: await idsIn(statement`builds`),
    deployments: await idsIn(statement`deployments`),
    operations: await idsIn(statement`operations`),
  })
  return { ...modules, retain, forget, shop, idsIn, history }
}

test('of a long history the newest builds stay, with their deployments and operations', async (t) => {
  const { deploy, retain, forget, shop, history } = await setUp(t)
  const made = []
  for (let count = 0; count < 8; count++) made.push(await deploy(shop))
  await retain(shop.id)
  assert.equal(await forget(shop.id), 15)
  const newest = made.slice(-3)
  assert.deepEqual(await history(), {
    builds: newest.map(({ id }) => id),
    deployments: newest.map(({ deployment }) => deployment),
    operations: newest.map(({ operationId }) => operationId),
  })
  assert.equal(await forget(shop.id), 0)
})

test('a short history is left alone', async (t) => {
  const { deploy, retain, forget, shop, history } = await setUp(t)
  for (let count = 0; count < 3; count++) await deploy(shop)
  await retain(shop.id)
  const before = await history()
  assert.equal(await forget(shop.id), 0)
  assert.deepEqual(await history(), before)
})

test('the live deployment stays, however old, with its build and operation', async (t) => {
  const { deploy, build, retain, forget, shop, history, hasOutput } = await setUp(t)
  const live = await deploy(shop)
  for (let count = 0; count < 6; count++) await build(shop, { state: 'FAILED' })
  await retain(shop.id)
  await forget(shop.id)
  const { builds, deployments, operations } = await history()
  assert.deepEqual([builds.length, builds[0], builds.includes(live.id)], [4, live.id, true])
  assert.deepEqual(deployments, [live.deployment])
  assert.ok(operations.includes(live.operationId))
  assert.equal(await hasOutput(live.output), true)
})

test('the last good build stays, also when nothing of it is left', async (t) => {
  const { build, forget, shop, idsIn } = await setUp(t)
  await build(shop)
  const good = await build(shop)
  for (let count = 0; count < 6; count++) await build(shop, { state: 'FAILED' })
  await forget(shop.id)
  const builds = await idsIn(statement`builds`)
  assert.deepEqual([builds.length, builds[0]], [4, good.id])
})

test('a build that is not over stays, and its operation', async (t) => {
  const { build, forget, shop, idsIn } = await setUp(t)
  const waiting = await build(shop, { isOver: false })
  for (let count = 0; count < 6; count++) await build(shop)
  await forget(shop.id)
  assert.ok((await idsIn(statement`builds`)).includes(waiting.id))
  assert.ok((await idsIn(statement`operations`)).includes(waiting.operationId))
})

test('an operation that others were satisfied by stays as long as they do', async (t) => {
  const { operation, finish, forget, shop, sql, idsIn } = await setUp(t, 1)
  const [joined, upload] = [await operation(shop), await operation(shop)]
  await sql.transaction((tx) =>
    tx.query(statement`UPDATE operations SET satisfied_by = ${upload} WHERE id = ${joined}`),
  )
  for (const id of [joined, upload]) await finish(id)
  for (let count = 0; count < 3; count++) await finish(await operation(shop))
  await forget(shop.id)
  const after = await idsIn(statement`operations`)
  assert.equal(after.includes(joined) && !after.includes(upload), false)
  await forget(shop.id)
  assert.equal((await idsIn(statement`operations`)).length, 1)
})

test('the history of another environment stays', async (t) => {
  const { build, environment, forget, shop, idsIn } = await setUp(t)
  const other = await environment()
  for (let count = 0; count < 6; count++) {
    await build(shop)
    await build(other)
  }
  await forget(shop.id)
  assert.equal((await idsIn(statement`builds`, other.id)).length, 6)
  assert.equal((await idsIn(statement`operations`, other.id)).length, 6)
})

test('the creation of an environment is remembered for good', async (t) => {
  const { operations, build, forget, shop, sql, finish, idsIn } = await setUp(t)
  const path = { accountId: shop.accountId, appName: shop.appName, environmentId: shop.id }
  const { id } = await sql.transaction((tx) => operations.request(tx, path, 'CREATE'))
  await finish(id)
  for (let count = 0; count < 6; count++) await build(shop)
  await forget(shop.id)
  assert.ok((await idsIn(statement`operations`)).includes(id))
})

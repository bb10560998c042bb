import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Modules, openModules } from '../../test/support/modules/deployments.ts'
import type { Environment } from '../apps/index.ts'
import { isActivatable } from '../deployments/index.ts'
import type { Digest, Sql } from '../storage/index.ts'
import { createRetain } from './retain.ts'

async function setUp(t: TestContext, keepDeployments = 2) {
  const modules = await openModules(t)
  return { ...modules, retain: createRetain({ ...modules, keepDeployments }), shop: await modules.environment() }
}

const nothing = { discard: [], outputs: [], packages: [] }

test('a deployment beyond those that are kept cannot be made live, and its output is removed', async (t) => {
  const { retain, shop, deploy, read, hasOutput } = await setUp(t)
  const made = []
  for (let count = 0; count < 4; count++) made.push(await deploy(shop))
  await retain(shop.id)
  const states = await Promise.all(
    made.map(async ({ deployment, output }) => [isActivatable(await read(deployment)), await hasOutput(output)]),
  )
  assert.deepEqual(states, [
    [false, false],
    [true, true],
    [true, true],
    [true, true],
  ])
})

test('a deployment that was discarded stays in the list as what it was', async (t) => {
  const { retain, shop, deploy, read } = await setUp(t, 1)
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  await retain(shop.id)
  const { state, discardTime } = await read(first.deployment)
  assert.equal(state, 'RETIRED')
  assert.ok(discardTime !== null)
})

test('a deployment that an operation makes live stays, and is discarded after that', async (t) => {
  const { retain, shop, deploy, operation, finish, read } = await setUp(t, 1)
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  const activating = await operation(shop, first.deployment)
  await retain(shop.id)
  assert.equal(isActivatable(await read(first.deployment)), true)
  await finish(activating)
  await retain(shop.id)
  assert.equal(isActivatable(await read(first.deployment)), false)
})

test('a deployment that an unfinished operation made and has not switched to stays', async (t) => {
  const { retain, shop, deploy, operation, deploymentOf, read, hasOutput } = await setUp(t, 1)
  const first = await deploy(shop)
  const updating = await operation(shop)
  const next = await deploymentOf(shop, first.id, updating)
  for (let count = 0; count < 3; count++) await deploy(shop)
  await retain(shop.id)
  assert.equal((await read(next.id)).discardTime, null)
  assert.equal(await hasOutput(first.output), true)
})

test('a deployment that still drains stays until its process has ended', async (t) => {
  const { retain, shop, deploy, running, hasOutput } = await setUp(t, 1)
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  running.add(first.deployment)
  await retain(shop.id)
  assert.equal(await hasOutput(first.output), true)
  running.delete(first.deployment)
  await retain(shop.id)
  assert.equal(await hasOutput(first.output), false)
})

test('an output that a kept deployment has too stays', async (t) => {
  const { retain, shop, deploy, read, hasOutput } = await setUp(t, 1)
  const first = await deploy(shop, { output: 'the same' })
  await deploy(shop)
  const last = await deploy(shop, { output: 'the same' })
  assert.equal(first.output, last.output)
  await retain(shop.id)
  assert.equal(isActivatable(await read(first.deployment)), false)
  assert.equal(await hasOutput(last.output), true)
})

test('an unchanged build gives up its output, and the live deployment keeps the same files', async (t) => {
  const { retain, shop, deploy, build, hasOutput } = await setUp(t, 1)
  const live = await deploy(shop, { output: 'the same' })
  const again = await build(shop, { output: 'the same' })
  assert.deepEqual((await retain(shop.id)).outputs, [again.id])
  assert.equal(await hasOutput(live.output), true)
})

test('packages go with the last deployment that runs on them', async (t) => {
  const { retain, shop, deploy, dataDir } = await setUp(t, 1)
  await deploy(shop, { packages: 'old' })
  await deploy(shop, { packages: 'newer' })
  await deploy(shop, { packages: 'newest' })
  await retain(shop.id)
  assert.equal((await readdir(join(dataDir, 'packages'))).length, 2)
})

test('the output of a build that did not start is removed, and its packages stay for the next', async (t) => {
  const { retain, shop, build, dataDir, hasOutput } = await setUp(t)
  const failed = await build(shop, { output: 'x', packages: 'y', state: 'FAILED' })
  await retain(shop.id)
  assert.equal(await hasOutput(failed.output), false)
  assert.equal((await readdir(join(dataDir, 'packages'))).length, 1)
})

test('another environment is left alone', async (t) => {
  const { retain, environment, deploy, hasOutput, shop } = await setUp(t, 1)
  const other = await environment()
  const theirs = [await deploy(other), await deploy(other), await deploy(other)]
  for (let count = 0; count < 3; count++) await deploy(shop)
  await retain(shop.id)
  for (const { output } of theirs) assert.equal(await hasOutput(output), true)
})

test('a second time there is nothing to do', async (t) => {
  const { retain, shop, deploy } = await setUp(t, 1)
  for (let count = 0; count < 4; count++) await deploy(shop)
  assert.equal((await retain(shop.id)).discard.length, 2)
  const { discard, outputs, packages } = await retain(shop.id)
  assert.deepEqual({ discard, outputs, packages }, nothing)
})

/** Everything that is to be kept is complete. */
async function assertNothingLost({ sql, outputs, deployments, builds }: Modules, { id, accountId }: Environment) {
  for (const deployment of await deployments.kept(sql, id)) {
    const { output } = await builds.require({ accountId, environmentId: id }, deployment.buildId)
    assert.ok(output && (await outputs.has(output)), `${deployment.id} has lost its output`)
  }
}

test('a crash before, in or after the transaction leaves nothing half-removed that is to be kept', async (t) => {
  const modules = await openModules(t)
  const shop = await modules.environment()
  const death = new Error('the process died')
  const dying: Partial<Modules>[] = [
    { sql: { ...modules.sql, transaction: () => Promise.reject(death) } as Sql },
    { buildRetention: { ...modules.buildRetention, release: () => Promise.reject(death) } },
    { outputs: { ...modules.outputs, remove: () => Promise.reject(death) } },
    { packages: { ...modules.packages, collect: () => Promise.reject(death) } },
  ]
  for (const part of dying) {
    for (let count = 0; count < 4; count++) await modules.deploy(shop, { packages: `packages ${count}` })
    const retain = createRetain({ ...modules, ...part, keepDeployments: 1 })
    await assert.rejects(retain(shop.id), /the process died/)
    await assertNothingLost(modules, shop)
  }
  await createRetain({ ...modules, keepDeployments: 1 })(shop.id)
  await modules.outputs.collect((digest: Digest) => modules.buildRetention.isOutputReferenced(digest))
  await modules.packages.collect()
  assert.equal((await readdir(join(modules.dataDir, 'outputs'))).length, 2)
  assert.equal((await readdir(join(modules.dataDir, 'packages'))).length, 2)
})

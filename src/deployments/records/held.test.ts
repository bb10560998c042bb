/** The record of held deployments, on a real database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { toPage } from '../../storage/index.ts'
import { isActivatable } from './deployments.ts'

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, builds, deployments } = modules
  const environment = await modules.environment()
  const path = { accountId: environment.accountId, environmentId: environment.id }

  /** A build as it is held. */
  async function hold(sentence: string) {
    const { id, operationId } = await modules.build(environment, { output: sentence, isOver: false })
    const { id: deployment } = await deployments.makeFor(operationId, path, { buildId: id, variables: [] })
    const suspected = { sentences: [sentence], details: { unreachable: [], lostPages: null } }
    await sql.transaction(async (tx) => {
      await builds.end(tx, id, {
        state: 'SUCCEEDED',
        durations: {},
        failure: null,
        suspected,
        heldReason: 'SUSPICIOUS_OUTPUT',
      })
      await deployments.setHeld(tx, operationId)
    })
    await modules.finish(operationId)
    return { build: id, deployment }
  }

  return {
    ...modules,
    environment,
    path,
    hold,
    heldNow: async () => (await deployments.heldOf([environment.id])).get(environment.id),
  }
}

test('the newest held deployment can be made live, and says why it is held', async (t) => {
  const { hold, heldNow, deployments, path, builds, environment } = await open(t)
  await hold('Ten pages are missing.')
  const { build, deployment } = await hold('Twenty pages are missing.')
  const held = await heldNow()
  assert.deepEqual([held?.id, held?.buildId, held?.message], [deployment, build, 'Twenty pages are missing.'])
  assert.equal(isActivatable(await deployments.require(path, deployment)), true)
  const read = await builds.require(path, build)
  assert.deepEqual([read.state, read.isHeld, read.warnings], ['SUCCEEDED', true, []])
  assert.equal((await builds.latestOf([environment.id])).get(environment.id)?.reason, 'SUSPICIOUS_OUTPUT')
})

test('a held build is not the last good one that a failure is compared with', async (t) => {
  const { hold, deploy, builds, environment, newId } = await open(t)
  const good = await deploy(environment)
  await hold('Pages are missing.')
  assert.equal((await builds.lastGood(environment.id, newId()))?.id, good.id)
})

test('a better build discards held deployments, except for one that is being made live', async (t) => {
  const { hold, heldNow, deployments, environment, operation, finish, sql, path } = await open(t)
  const { deployment } = await hold('Pages are missing.')
  const activating = await operation(environment, deployment)
  await sql.transaction((tx) => deployments.discardHeld(tx, environment.id))
  assert.equal((await heldNow())?.id, deployment)
  await finish(activating)
  await sql.transaction((tx) => deployments.discardHeld(tx, environment.id))
  assert.equal(await heldNow(), undefined)
  const { items } = await deployments.list(path, toPage({}))
  assert.deepEqual(items.map(isActivatable), [false])
})

test('an output that is suspicious and not held causes a warning', async (t) => {
  const { build, builds, environment, path, sql } = await open(t)
  const { id } = await build(environment, { isOver: false })
  const suspected = { sentences: ['Pages are missing.'], details: {} }
  await sql.transaction((tx) => builds.end(tx, id, { state: 'SUCCEEDED', durations: {}, failure: null, suspected }))
  const read = await builds.require(path, id)
  assert.deepEqual([read.isHeld, read.warnings], [false, ['Pages are missing.']])
})

/** Notices of builds on a real database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import type { Environment } from '../../apps/index.ts'
import { toFailure } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { OperationRecord } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'
import { createRetries } from '../records/retries.ts'
import { type BuildNotice, createBuildNotices } from './build-notices.ts'

const PROBLEM = new Problem('TYPE_ERROR', 'cart.ts(3,1): error TS2304.')

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, operations, builds } = modules
  const retries = createRetries({ ...modules, intervalMs: 60_000 })
  const told: BuildNotice[] = []
  const state = { isWanted: true }
  const notices = createBuildNotices({
    ...modules,
    retries,
    siteUrl: (label) => `https://${label}.example`,
    record: async (_, notice) => void told.push(notice),
    isWanted: async () => state.isWanted,
  })

  async function failedBuild(environment: Environment) {
    const made = await modules.build(environment, { isOver: false })
    const failure = toFailure(PROBLEM, 1, [])
    await sql.transaction((tx) => builds.end(tx, made.id, { state: 'FAILED', durations: {}, failure }))
    return made
  }

  return {
    ...modules,
    retries,
    told,
    state,
    notices,
    failedBuild,
    operationOf: ({ id, accountId, appName }: Environment, operation: string): Promise<OperationRecord> =>
      operations.require({ accountId, appName, environmentId: id }, operation),
    within: <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => sql.transaction(work),
  }
}

test('a failed build is told with its resource and its page of the portal', async (t) => {
  const { environment: make, failedBuild, operationOf, notices, within, told } = await open(t)
  const environment = await make()
  const { id, operationId } = await failedBuild(environment)
  const operation = await operationOf(environment, operationId)
  await within((tx) => notices.ended(tx, operation, { error: PROBLEM }))
  const place = `apps/${environment.appName}/environments/${environment.id}/builds/${id}`
  assert.deepEqual(
    told.map(({ kind, resource, link }) => [kind, resource, link]),
    [['BUILD_FAILED', `accounts/ours/${place}`, `/ours/${place}`]],
  )
  assert.match(told[0]?.text ?? '', /TYPE_ERROR\ncart\.ts/)
})

test('nothing is told to an account without targets', async (t) => {
  const { environment: make, failedBuild, operationOf, notices, within, told, state } = await open(t)
  const environment = await make()
  const operation = await operationOf(environment, (await failedBuild(environment)).operationId)
  state.isWanted = false
  await within((tx) => notices.ended(tx, operation, { error: PROBLEM }))
  assert.deepEqual(told, [])
})

test('a failure that is retried is told when the service gives up', async (t) => {
  const { environment: make, failedBuild, operationOf, notices, within, told, retries } = await open(t)
  const environment = await make()
  const { id: environmentId, accountId, appName } = environment
  const { id: buildId, operationId } = await failedBuild(environment)
  const operation = await operationOf(environment, operationId)
  await within(async (tx) => {
    await retries.arrange(tx, { accountId, environmentId }, { buildId, endpoints: [] })
    await notices.ended(tx, operation, { error: PROBLEM })
  })
  assert.deepEqual(told, [])
  const retry = (await retries.of([environmentId])).get(environmentId)
  assert.ok(retry)
  await within((tx) => notices.givenUp(tx, retry, appName))
  await within((tx) => notices.givenUp(tx, { ...retry, buildId: 'forgotten' }, appName))
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['BUILD_FAILED'],
  )
})

test('a deployment that a user makes live is told with the build that it is of', async (t) => {
  const { environment: make, deploy, operation: request, operationOf, notices, within, told } = await open(t)
  const environment = await make()
  const { id, deployment } = await deploy(environment)
  const operation = await operationOf(environment, await request(environment, deployment))
  await within((tx) => notices.ended(tx, { ...operation, trigger: 'ACTIVATE' }, { response: {} }))
  assert.deepEqual(
    told.map(({ kind, link }) => [kind, link.endsWith(`/builds/${id}`)]),
    [['BUILD_LIVE', true]],
  )
})

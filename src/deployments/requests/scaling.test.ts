import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openRoutedModules } from '../../../test/support/modules/routing.ts'
import { createVariables } from '../../apps/index.ts'
import { type Problem, resources } from '../../contract/index.ts'
import { createVault } from '../../storage/index.ts'
import { createRequests } from './request.ts'
import { createBuildRequests } from './request-build.ts'
import { changedScaling, newScaling } from './scaling.ts'

const { DEFAULT_SCALING } = resources
const wide = { minInstances: 2, maxInstances: 8, requestsPerInstance: 50 }

test('each field of the mask changes only that one', () => {
  const given = { minInstances: 1, maxInstances: 4, requestsPerInstance: 20 }
  assert.deepEqual(changedScaling(wide, given, ['minInstances']), { ...wide, minInstances: 1 })
  assert.deepEqual(changedScaling(wide, given, ['maxInstances']), { ...wide, maxInstances: 4 })
  assert.deepEqual(changedScaling(wide, given, ['requestsPerInstance']), { ...wide, requestsPerInstance: 20 })
})

test('a field of the mask without a value is the default again', () => {
  assert.deepEqual(changedScaling(wide, {}, ['minInstances', 'maxInstances']), {
    ...DEFAULT_SCALING,
    requestsPerInstance: 50,
  })
})

test('a mask without these fields changes nothing', () => {
  assert.equal(changedScaling(wide, { minInstances: 1 }, ['displayName']), undefined)
})

test('a new environment has the defaults in place of what is not given', () => {
  assert.deepEqual(newScaling({ maxInstances: 3 }), { ...DEFAULT_SCALING, maxInstances: 3 })
  assert.equal(newScaling({}), undefined)
})

const isRefusedAtMin = (max: number) => (problem: Problem) => {
  assert.equal(problem.reason, 'FIELD_INVALID')
  const [field, ...others] = problem.fields
  assert.equal(field?.field, 'minInstances')
  assert.match(field?.description ?? '', new RegExp(`maxInstances, which is ${max}: set it to ${max} or less, or`))
  assert.deepEqual(others, [])
  return true
}

test('more instances at least than at most are refused, whichever of the two is given', () => {
  assert.throws(() => changedScaling(wide, { minInstances: 9 }, ['minInstances']), isRefusedAtMin(8))
  assert.throws(() => changedScaling(wide, { maxInstances: 1 }, ['maxInstances']), isRefusedAtMin(1))
  assert.throws(() => newScaling({ minInstances: 2 }), isRefusedAtMin(1))
  assert.deepEqual(changedScaling(wide, { minInstances: 8 }, ['minInstances']), { ...wide, minInstances: 8 })
})

test('the settings are stored with the change, and a refused one leaves them as they were', async (t) => {
  const modules = await openRoutedModules(t)
  const variables = createVariables({ vault: createVault(randomBytes(32)) })
  const requests = createRequests({ ...modules, variables, buildRequests: createBuildRequests(modules) })
  const { id, appName } = await modules.environment()
  const at = { account: modules.account, appName, environmentId: id }
  const stored = async () => (await modules.environments.byId(modules.sql, id))?.scaling
  assert.deepEqual(await stored(), DEFAULT_SCALING)

  await requests.updateEnvironment(at, { given: { maxInstances: 4 }, mask: ['maxInstances'] })
  await requests.updateEnvironment(at, { given: { minInstances: 3 }, mask: ['minInstances'] })
  const now = { ...DEFAULT_SCALING, minInstances: 3, maxInstances: 4 }
  assert.deepEqual(await stored(), now)
  const tooFew = { given: { maxInstances: 2 }, mask: ['maxInstances'] as const }
  await assert.rejects(requests.updateEnvironment(at, tooFew), isRefusedAtMin(2))
  await requests.updateEnvironment(at, { given: { displayName: 'Other' }, mask: ['displayName'] })
  assert.deepEqual(await stored(), now)
})

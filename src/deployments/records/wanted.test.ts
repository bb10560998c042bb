import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { createWantedInstances } from './wanted.ts'

test('live deployments that were awake are listed, the last visited first', async (t) => {
  const modules = await openModules(t)
  const wanted = createWantedInstances(modules)
  const ids: string[] = []
  for (let count = 0; count < 4; count++) ids.push((await modules.deploy(await modules.environment())).deployment)
  const [never = '', before = '', last = '', asleep = ''] = ids
  for (const id of ids) await wanted.set(id, 1)
  await wanted.set(asleep, 0)
  await wanted.visited([before, asleep])
  await modules.clock.advance(1000)
  await wanted.visited([last])
  assert.deepEqual(await wanted.awake(), [last, before, never])
})

test('a deployment that was replaced is not listed', async (t) => {
  const modules = await openModules(t)
  const wanted = createWantedInstances(modules)
  const environment = await modules.environment()
  const { deployment: old } = await modules.deploy(environment)
  await wanted.set(old, 1)
  await modules.sql.transaction((tx) => modules.deployments.setRetired(tx, old))
  assert.deepEqual(await wanted.awake(), [])
})

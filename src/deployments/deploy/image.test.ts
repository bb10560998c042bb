/** Live outputs at the start of a service that has a registry. */
import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { planOf } from '../../../test/support/plan.ts'
import type { Images } from '../../images/index.ts'
import type { Digest } from '../../storage/index.ts'
import { createImageSteps } from './image.ts'

/** A service with so many live sites, and a registry that has the images of all of them. */
async function startedWith(t: TestContext, sites: number, fetch: Images['fetch']) {
  const modules = await openModules(t)
  const plan = await planOf({ 'index.html': 'page' })
  const outputs: Digest[] = []
  for (let count = 0; count < sites; count++) {
    const environment = await modules.environment()
    await modules.sql.transaction((tx) => modules.environments.assignHostLabel(tx, environment))
    const { id, output } = await modules.deploy(environment)
    await modules.builds.planned(id, plan)
    outputs.push(output)
  }
  const images = {
    prepare: () => assert.fail('nothing is pushed'),
    publish: () => assert.fail('nothing is pushed'),
    referencesOf: async (asked: readonly Digest[]) => new Map(asked.map((output) => [output, 'reference'])),
    fetch,
    inScratch: <T>(use: (scratch: string) => Promise<T>) => use(modules.dataDir),
  }
  const toolchains = { open: () => assert.fail('none is needed'), own: () => assert.fail('none is needed') }
  return { modules, outputs, steps: createImageSteps({ ...modules, images, toolchains }) }
}

const fetchPage: Images['fetch'] = async (_output, destinations) => {
  const files = destinations.find(({ kind }) => kind === 'files')?.folder ?? ''
  await mkdir(files, { recursive: true })
  await writeFile(join(files, 'index.html'), 'page')
  return { bytes: 4 }
}

async function queriesOfStart(t: TestContext, sites: number, { areGone = false } = {}): Promise<number> {
  const { modules, outputs, steps } = await startedWith(t, sites, fetchPage)
  if (areGone) await rm(join(modules.dataDir, 'outputs'), { recursive: true })
  const counted = t.mock.method(modules.sql, 'query')
  await steps.restoreLive()
  const count = counted.mock.callCount()
  counted.mock.restore()
  for (const output of outputs) assert.ok(await modules.outputs.has(output))
  return count
}

test('a start asks the database as often for many live sites as for one', async (t) => {
  assert.equal(await queriesOfStart(t, 12), await queriesOfStart(t, 1))
})

test('so does a start on a machine that has lost all of them', async (t) => {
  assert.equal(await queriesOfStart(t, 12, { areGone: true }), await queriesOfStart(t, 1, { areGone: true }))
})

test('one output that cannot be got does not keep the others from being got', async (t) => {
  let isFirst = true
  const { modules, outputs, steps } = await startedWith(t, 3, async (...args) => {
    if (!isFirst) return fetchPage(...args)
    isFirst = false
    throw new Error('the registry is away')
  })
  await rm(join(modules.dataDir, 'outputs'), { recursive: true })
  await steps.restoreLive()
  const found = await Promise.all(outputs.map((output) => modules.outputs.has(output)))
  assert.equal(found.filter(Boolean).length, 2)
})

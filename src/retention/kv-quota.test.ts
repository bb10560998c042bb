import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openModules } from '../../test/support/modules/deployments.ts'
import { openStoredValues } from '../../test/support/object-store/values.ts'
import { createFigures } from './figures.ts'
import { createKvQuota } from './kv-quota.ts'
import { createUsage } from './usage.ts'

const NOW = { CACHES: 0, LOGS: 0, RUNS: 0, EARLIER: 0 }

async function setUp(t: TestContext, limits: { accountBytes?: number; accountFiles?: number } = {}) {
  const modules = await openModules(t)
  const figures = createFigures(modules)
  const quota = { accountBytes: 0, accountFiles: 0, ...limits }
  const usage = createUsage({ ...modules, figures, ...quota })
  let looks = 0
  const counted = {
    async sizeOf(accountId: string) {
      looks += 1
      return usage.sizeOf(accountId)
    },
  }
  const diskSpace = createKvQuota({ ...modules, figures, usage: counted, ...quota })
  return { ...modules, figures, diskSpace, looks: () => looks, shop: await modules.environment() }
}

test('all stores of an account grow within what it may hold, and those of another account have their own', async (t) => {
  const { diskSpace, accounts, environment, shop } = await setUp(t, { accountBytes: 100 })
  const second = await environment()
  const theirs = await environment(await accounts.create('theirs'))
  assert.equal(await diskSpace.take(shop.id, { bytes: 60, files: 1 }), true)
  assert.equal(await diskSpace.take(second.id, { bytes: 41, files: 1 }), false)
  assert.equal(await diskSpace.take(second.id, { bytes: 40, files: 1 }), true)
  assert.equal(await diskSpace.take(theirs.id, { bytes: 100, files: 1 }), true)
  assert.equal(await diskSpace.take(shop.id, { bytes: -30, files: -1 }), true, 'what shrinks always may')
  assert.equal(await diskSpace.take(second.id, { bytes: 30, files: 1 }), true)
})

test('files are limited like bytes, and without a limit the usage is not read', async (t) => {
  const { diskSpace, shop } = await setUp(t, { accountFiles: 1 })
  assert.equal(await diskSpace.take(shop.id, { bytes: 10 ** 12, files: 1 }), true)
  assert.equal(await diskSpace.take(shop.id, { bytes: 1, files: 1 }), false)
  assert.equal(await diskSpace.take(shop.id, { bytes: 1, files: 0 }), true)
  const free = await setUp(t)
  assert.equal(await free.diskSpace.take(free.shop.id, { bytes: 10 ** 15, files: 10 ** 9 }), true)
  assert.equal(free.looks(), 0)
})

test('thousands of writes read the usage once a minute, and after a refusal every five seconds', async (t) => {
  const { diskSpace, shop, clock, looks } = await setUp(t, { accountBytes: 1_000_000 })
  for (let writes = 0; writes < 2000; writes++) await diskSpace.take(shop.id, { bytes: 1, files: 0 })
  assert.equal(looks(), 1)
  await clock.advance(61_000)
  await diskSpace.take(shop.id, { bytes: 1, files: 0 })
  assert.equal(looks(), 2)
  for (let writes = 0; writes < 100; writes++)
    assert.equal(await diskSpace.take(shop.id, { bytes: 10 ** 7, files: 0 }), false)
  assert.equal(looks(), 2)
  await clock.advance(5000)
  assert.equal(await diskSpace.take(shop.id, { bytes: 10 ** 7, files: 0 }), false)
  assert.equal(looks(), 3)
})

test('what was written counts once, before its folder is measured and after', async (t) => {
  const { diskSpace, shop, account, clock, figures, folders } = await setUp(t, { accountBytes: 100 })
  await diskSpace.take(shop.id, { bytes: 60, files: 1 })
  assert.deepEqual(await diskSpace.unmeasured(account.id), { bytes: 60, files: 1 })
  await clock.advance(61_000)
  assert.equal(await diskSpace.take(shop.id, { bytes: 50, files: 1 }), false, 'another look does not forget it')
  const folder = folders.values(shop.id)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'value'), 'x'.repeat(60))
  await figures.measure(shop.id, NOW)
  assert.deepEqual(await diskSpace.unmeasured(account.id), { bytes: 0, files: 0 })
  await clock.advance(61_000)
  assert.equal(await diskSpace.take(shop.id, { bytes: 41, files: 1 }), false)
  assert.equal(await diskSpace.take(shop.id, { bytes: 40, files: 1 }), true)
})

test('values in rows count as those in files do, once they are measured', async (t) => {
  const { values, ours, modules } = await openStoredValues(t, { blocks: 100 })
  await values.put(ours, 'small', Buffer.from('1'))
  await values.put(ours, 'large', Buffer.alloc(10_000, 'x'))
  const figures = createFigures({ ...modules, storedValues: values })
  await figures.measure(ours, NOW)
  const runs = (await figures.read()).find(({ environmentId, kind }) => environmentId === ours && kind === 'RUNS')
  assert.deepEqual([runs?.bytes, runs?.files], [4 * 4096, 2])
})

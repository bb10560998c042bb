import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openModules } from '../../test/support/modules/deployments.ts'
import { Problem, type Reason } from '../contract/index.ts'
import { createDiskSpace } from './disk-space.ts'
import { createFigures } from './figures.ts'
import { createLingering } from './lingering.ts'
import { createUsage } from './usage.ts'

const MORE_THAN_ANY_DISK = 1e12

const FREE = 1e9

async function setUp(
  t: TestContext,
  given: { accountBytes?: number; accountFiles?: number; diskReserve?: number } = {},
) {
  const modules = await openModules(t)
  const limits = { accountBytes: 0, accountFiles: 0, diskReserve: 0, ...given }
  const usage = createUsage({ ...modules, ...limits, figures: createFigures(modules) })
  const lingering = createLingering(modules)
  const shortages: string[] = []
  const diskSpace = createDiskSpace({
    ...modules,
    ...limits,
    usage,
    lingering,
    onShortage: () => void shortages.push('short'),
    freeBytes: async () => FREE,
  })
  return { ...modules, diskSpace, lingering, shop: await modules.environment(), shortages }
}

async function refusal(asked: Promise<unknown>, reason: Reason): Promise<Problem> {
  const error = await asked.then(
    () => assert.fail('it was not refused'),
    (thrown) => thrown,
  )
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.reason, reason)
  return error
}

test('an upload that fits exactly is taken, and one byte more is not', async (t) => {
  const { diskSpace, account, shop } = await setUp(t, { accountBytes: 100 })
  ;(await diskSpace.forUpload(account, shop.id, 100)).giveBack()
  await refusal(diskSpace.forUpload(account, shop.id, 101), 'QUOTA_EXCEEDED')
})

test('a refusal has the numbers, and names what would free space', async (t) => {
  const { diskSpace, account, shop, deploy } = await setUp(t, { accountBytes: 100 })
  await deploy(shop, { archive: 'x', output: '1'.repeat(50) })
  const { message, metadata } = await refusal(diskSpace.forUpload(account, shop.id, 60), 'QUOTA_EXCEEDED')
  const name = `accounts/ours/apps/${shop.appName}/environments/${shop.id}`
  assert.match(message, /^The account holds 51 B of 100 B, and this takes about 110 B more\. Deleting environments/)
  assert.ok(message.includes(name))
  assert.deepEqual(metadata, { limit: '100', used: '51', needed: '110', largest: name, largestBytes: '51' })
})

test('uploads at the same time cannot reserve the same space', async (t) => {
  const { diskSpace, account, shop } = await setUp(t, { accountBytes: 100 })
  const first = await diskSpace.forUpload(account, shop.id, 60)
  await refusal(diskSpace.forUpload(account, shop.id, 60), 'QUOTA_EXCEEDED')
  first.giveBack()
  ;(await diskSpace.forUpload(account, shop.id, 60)).giveBack()
})

test('each account has its own quota', async (t) => {
  const { diskSpace, accounts, account, shop, environment } = await setUp(t, { accountBytes: 100 })
  const theirs = await accounts.create('theirs')
  const promised = await diskSpace.forUpload(account, shop.id, 100)
  ;(await diskSpace.forUpload(theirs, (await environment(theirs)).id, 100)).giveBack()
  promised.giveBack()
})

test('a rebuild needs space for an output as large as the last one', async (t) => {
  const { diskSpace, account, shop, deploy } = await setUp(t, { accountBytes: 100 })
  await deploy(shop, { archive: 'x', output: '1'.repeat(60) })
  await refusal(diskSpace.forRebuild(account, shop.id), 'QUOTA_EXCEEDED')
})

test('an output is checked against the limit when its size is known', async (t) => {
  const { diskSpace, shop } = await setUp(t, { accountBytes: 100 })
  await diskSpace.toKeep(shop, { bytes: 100, files: 1 })
  await refusal(diskSpace.toKeep(shop, { bytes: 101, files: 1 }), 'QUOTA_EXCEEDED')
})

test('files have a limit of their own, and empty ones count', async (t) => {
  const { diskSpace, account, shop, deploy } = await setUp(t, { accountFiles: 100 })
  await diskSpace.toKeep(shop, { bytes: 0, files: 100 })
  const problem = await refusal(diskSpace.toKeep(shop, { bytes: 0, files: 101 }), 'QUOTA_EXCEEDED')
  assert.match(problem.message, /^The account holds 0 of 100 files and folders, and this takes 101 more/)
  assert.deepEqual([problem.metadata.what, problem.metadata.limit], ['files', '100'])
  await deploy(shop, { archive: 'x', output: '1' })
  await refusal(diskSpace.toKeep(shop, { bytes: 0, files: 100 }), 'QUOTA_EXCEEDED')
  ;(await diskSpace.forUpload(account, shop.id, 1)).giveBack()
})

test('without a limit an account may hold anything', async (t) => {
  const { diskSpace, shop } = await setUp(t)
  await diskSpace.toKeep(shop, { bytes: MORE_THAN_ANY_DISK, files: MORE_THAN_ANY_DISK })
})

test('an upload that does not fit onto the disk is refused with a time to try again', async (t) => {
  const { diskSpace, account, shop } = await setUp(t)
  const problem = await refusal(diskSpace.forUpload(account, shop.id, MORE_THAN_ANY_DISK), 'STORAGE_UNAVAILABLE')
  assert.equal(problem.retryAfterSeconds, 60)
  assert.match(problem.message, /^There is no space on the disk for about .+ more/)
})

test('what would use up the reserve is refused, however small', async (t) => {
  const { diskSpace, account, shop } = await setUp(t, { diskReserve: FREE - 100 })
  // An archive is on the disk twice for a while: packed and unpacked.
  ;(await diskSpace.forUpload(account, shop.id, 50)).giveBack()
  await refusal(diskSpace.forUpload(account, shop.id, 51), 'STORAGE_UNAVAILABLE')
})

test('a rebuild is refused where the reserve is used up already', async (t) => {
  const { diskSpace, account, shop } = await setUp(t, { diskReserve: FREE + 1 })
  await refusal(diskSpace.forRebuild(account, shop.id), 'STORAGE_UNAVAILABLE')
})

test('a build that does not fit onto the disk fails with DISK_FULL', async (t) => {
  const { diskSpace, shop, build, builds } = await setUp(t, { diskReserve: MORE_THAN_ANY_DISK })
  const { id } = await build(shop, { isOver: false })
  const waiting = await builds.require({ accountId: shop.accountId, environmentId: shop.id }, id)
  await refusal(diskSpace.forBuild(shop, waiting), 'DISK_FULL')
})

test('every shortage is reported', async (t) => {
  const { diskSpace, account, shop, shortages } = await setUp(t, { accountBytes: 1 })
  await refusal(diskSpace.forUpload(account, shop.id, 2), 'QUOTA_EXCEEDED')
  assert.deepEqual(shortages, ['short'])
})

test('an upload without a declared length is refused as soon as it is too large', async (t) => {
  const { diskSpace, account, shop } = await setUp(t, { accountBytes: 100 })
  const promised = await diskSpace.forUpload(account, shop.id, 0)
  await promised.cover(60)
  await refusal(diskSpace.forUpload(account, shop.id, 60), 'QUOTA_EXCEEDED')
  await promised.cover(100)
  await refusal(promised.cover(101), 'QUOTA_EXCEEDED')
  promised.giveBack()
  ;(await diskSpace.forUpload(account, shop.id, 100)).giveBack()
})

test('archives without a reference count towards the account that sent them until they are collected', async (t) => {
  const { diskSpace, lingering, account, accounts, shop, archiveOf, archives, sql, builds, newId, deploy } =
    await setUp(t, {
      accountBytes: 1000,
    })
  const refused = await archiveOf('r'.repeat(600))
  diskSpace.received(account, refused)
  diskSpace.received(account, refused)
  await refusal(diskSpace.forUpload(account, shop.id, 401), 'QUOTA_EXCEEDED')
  ;(await diskSpace.forUpload(account, shop.id, 400)).giveBack()
  const other = await accounts.create('other')
  ;(await diskSpace.forUpload(other, shop.id, 1000)).giveBack()
  // One that a build refers to counts once.
  const operationId = (await deploy(shop, { archive: 'x' })).id
  const given = { id: newId(), operationId, trigger: 'UPLOAD' as const, isClean: false, archive: refused }
  await sql.transaction((tx) => builds.insert(tx, { accountId: account.id, environmentId: shop.id }, given))
  assert.equal(await lingering.bytesOf(account.id), 0)
  diskSpace.received(account, { ...refused, digest: `sha256:${'0'.repeat(64)}`, bytes: 999 })
  assert.equal(await lingering.bytesOf(account.id), 999)
  await lingering.collected()
  assert.deepEqual([await lingering.bytesOf(account.id), await archives.has(refused.digest)], [0, true])
})

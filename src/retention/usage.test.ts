import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openModules } from '../../test/support/modules/deployments.ts'
import type { Environment } from '../apps/index.ts'
import { StorageUnavailable } from '../storage/index.ts'
import { createFigures } from './figures.ts'
import { createUsage } from './usage.ts'

async function setUp(t: TestContext) {
  const modules = await openModules(t)
  const figures = createFigures(modules)
  const usage = createUsage({ ...modules, figures, accountBytes: 1000, accountFiles: 50 })
  const at = ({ id, appName }: Environment) => ({ account: 'ours', app: appName, environment: id })
  return {
    ...modules,
    figures,
    usage,
    at,
    shop: await modules.environment(),
    async kindsOf(environment: Environment): Promise<Record<string, [number, number]>> {
      const { kinds } = await usage.ofEnvironment(environment.accountId, at(environment))
      return Object.fromEntries(kinds.map(({ kind, bytes, sharedBytes }) => [kind, [bytes, sharedBytes]]))
    },
  }
}

test('an environment that holds nothing holds no bytes of any kind', async (t) => {
  const { usage, at, shop } = await setUp(t)
  const { bytes, kinds } = await usage.ofEnvironment(shop.accountId, at(shop))
  assert.equal(bytes, 0)
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ['ARCHIVES', 'REPOSITORIES', 'SNAPSHOTS', 'OUTPUTS', 'PACKAGES', 'CACHES', 'LOGS', 'RUNS'],
  )
})

test('each kind is shown with its bytes, and the sum is that of all kinds', async (t) => {
  const { usage, at, shop, deploy, folders, write, logs, kindsOf } = await setUp(t)
  const { id, deployment } = await deploy(shop, { archive: '1', output: '22', packages: '333' })
  await write(join(folders.cacheOf(shop.id), 'store', 'file'), '4444')
  await write(join(folders.run(shop.id, deployment), 'own', 'file'), '55555')
  const logBytes = await logs.bytesOf(`builds/${id}`)
  assert.ok(logBytes > 0)
  assert.deepEqual(await kindsOf(shop), {
    ARCHIVES: [1, 0],
    REPOSITORIES: [0, 0],
    SNAPSHOTS: [0, 0],
    OUTPUTS: [2, 0],
    PACKAGES: [3, 0],
    CACHES: [4, 0],
    LOGS: [logBytes, 0],
    RUNS: [5, 0],
  })
  assert.equal((await usage.ofEnvironment(shop.accountId, at(shop))).bytes, 15 + logBytes)
})

test('what an app keeps in the key-value store counts as what it wrote', async (t) => {
  const { shop, folders, write, kindsOf } = await setUp(t)
  await write(join(folders.run(shop.id, 'a-deployment'), 'own', 'file'), '22')
  await write(join(folders.values(shop.id), 'value'), '333')
  assert.deepEqual((await kindsOf(shop)).RUNS, [5, 0])
})

test('what lies on the disk once counts once, however many builds have it', async (t) => {
  const { shop, deploy, kindsOf } = await setUp(t)
  await deploy(shop, { archive: '1', output: '22' })
  await deploy(shop, { archive: '1', output: '22' })
  const { ARCHIVES, OUTPUTS } = await kindsOf(shop)
  assert.deepEqual(
    [ARCHIVES, OUTPUTS],
    [
      [1, 0],
      [2, 0],
    ],
  )
})

test('what two environments share counts with each as shared, and once for the account', async (t) => {
  const { usage, account, shop, environment, deploy, kindsOf } = await setUp(t)
  const other = await environment()
  for (const one of [shop, other]) await deploy(one, { archive: 'shared', output: '1' })
  assert.deepEqual((await kindsOf(shop)).ARCHIVES, [6, 6])
  const { kinds } = await usage.ofAccount(account)
  assert.equal(kinds.find(({ kind }) => kind === 'ARCHIVES')?.bytes, 6)
})

test('that two accounts share a file is shown to neither', async (t) => {
  const { accounts, usage, shop, environment, deploy, kindsOf } = await setUp(t)
  const theirs = await accounts.create('theirs')
  await deploy(await environment(theirs), { archive: 'the same', output: '1' })
  await deploy(shop, { archive: 'the same', output: '1' })
  assert.deepEqual((await kindsOf(shop)).ARCHIVES, [8, 0])
  const { kinds } = await usage.ofAccount(theirs)
  assert.equal(kinds.find(({ kind }) => kind === 'ARCHIVES')?.bytes, 8)
})

test('the usage of an account has its limit and its largest environments', async (t) => {
  const { usage, account, shop, environment, deploy, at } = await setUp(t)
  const large = await environment()
  await deploy(shop, { archive: 'x', output: '1' })
  await deploy(large, { archive: 'y', output: '22222' })
  const { limitBytes, environments } = await usage.ofAccount(account)
  assert.equal(limitBytes, 1000)
  assert.deepEqual(
    environments.map(({ environment: name, displayName, bytes }) => [name.split('/').at(-1), displayName, bytes]),
    [
      [at(large).environment, 'x', 6],
      [at(shop).environment, 'x', 2],
    ],
  )
})

test('the total of all accounts counts what lies on the disk once', async (t) => {
  const { accounts, usage, shop, environment, deploy } = await setUp(t)
  await deploy(await environment(await accounts.create('theirs')), { archive: 'the same', output: '1' })
  await deploy(shop, { archive: 'the same', output: '1' })
  const total = Object.fromEntries((await usage.total()).map(({ kind, bytes }) => [kind, bytes]))
  assert.deepEqual([total.ARCHIVES, total.OUTPUTS], [8, 2])
})

test('measured sizes are used for a minute', async (t) => {
  const { clock, shop, folders, write, kindsOf } = await setUp(t)
  const file = join(folders.run(shop.id, 'some'), 'file')
  await write(file, '1')
  assert.deepEqual((await kindsOf(shop)).RUNS, [1, 0])
  await write(file, '22')
  assert.deepEqual((await kindsOf(shop)).RUNS, [1, 0])
  await clock.advance(60_000)
  assert.deepEqual((await kindsOf(shop)).RUNS, [2, 0])
})

test('figures that cannot be stored do not prevent an answer', async (t) => {
  const { figures, shop, at, ...modules } = await setUp(t)
  const full = { ...figures, measure: () => Promise.reject(new StorageUnavailable('database or disk is full')) }
  const usage = createUsage({ ...modules, figures: full, accountBytes: 0, accountFiles: 0 })
  assert.equal((await usage.ofEnvironment(shop.accountId, at(shop))).bytes, 0)
})

test('the figures of deleted environments are removed', async (t) => {
  const { figures, shop, environment, usage, at } = await setUp(t)
  const gone = await environment()
  for (const one of [shop, gone]) await usage.ofEnvironment(one.accountId, at(one))
  await figures.forgetAllBut(new Set([shop.id]))
  assert.deepEqual(new Set((await figures.read()).map(({ environmentId }) => environmentId)), new Set([shop.id]))
})

test('the size of an output of an earlier version is measured', async (t) => {
  const { shop, deploy, buildRetention, outputs, kindsOf } = await setUp(t)
  const { output } = await deploy(shop, { output: '22' })
  await buildRetention.measuredOutput(output, { bytes: 0, files: 0 })
  assert.deepEqual((await kindsOf(shop)).OUTPUTS, [0, 0])
  await buildRetention.measuredOutput(output, await outputs.sizeOf(output))
  assert.deepEqual((await kindsOf(shop)).OUTPUTS, [2, 0])
})

test('files count beside bytes, and so do folders and what is empty', async (t) => {
  const { usage, at, account, shop, environment, deploy, folders, write } = await setUp(t)
  const other = await environment()
  await deploy(shop, { archive: '1', output: '22' })
  await deploy(other, { archive: '2', output: '33' })
  await write(join(folders.cacheOf(other.id), 'store', 'empty'), '')
  const { files: ofShop } = await usage.ofEnvironment(shop.accountId, at(shop))
  const { files: ofOther } = await usage.ofEnvironment(other.accountId, at(other))
  assert.ok(ofShop >= 2, 'an archive and the file of an output')
  assert.equal(ofOther, ofShop + 2)
  const { files, limitFiles } = await usage.ofAccount(account)
  assert.deepEqual([files, limitFiles], [ofShop + ofOther, 50])
})

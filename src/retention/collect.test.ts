import assert from 'node:assert/strict'
import { mkdir, readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { LEADING } from '../../test/support/leading.ts'
import { type Modules, openModules } from '../../test/support/modules/deployments.ts'
import { createCollect } from './collect.ts'

const NEVER = new AbortController().signal

async function setUp(t: TestContext) {
  const modules = await openModules(t)
  const figures = { forgetAllBut: async () => undefined }
  const shop = await modules.environment()
  const collect = () => createCollect({ ...modules, figures })(NEVER, LEADING)
  /** As if all archives had been received long ago. */
  async function age() {
    const longAgo = new Date(Date.now() - 24 * 60 * 60_000)
    for (const digest of await modules.blobs.list())
      await modules.blobs.withFile(digest, (file) => utimes(file, longAgo, longAgo))
  }
  return { ...modules, shop, age, collect }
}

const namesIn = async (...path: string[]): Promise<string[]> => (await readdir(join(...path)).catch(() => [])).sort()

test('where everything is needed, nothing is removed', async (t) => {
  const { shop, deploy, age, collect } = await setUp(t)
  await deploy(shop, { packages: 'x' })
  await age()
  assert.deepEqual(await collect(), {})
})

test('of archives stay the last one, that of the last good build, and those of builds that are not over', async (t) => {
  const { shop, deploy, build, age, collect, blobs, sql, buildRetention } = await setUp(t)
  const old = await deploy(shop, { archive: 'one' })
  await sql.transaction((tx) => buildRetention.release(tx, { outputs: [old.id], packages: [] }))
  const good = await deploy(shop, { archive: 'two' })
  const waiting = await build(shop, { archive: 'three', isOver: false })
  const failed = await build(shop, { archive: 'four', state: 'FAILED' })
  const last = await build(shop, { archive: 'five', state: 'FAILED' })
  await age()
  assert.deepEqual(await collect(), { archives: 2, outputs: 1 })
  assert.deepEqual(
    (await blobs.list()).toSorted(),
    [good.archive, waiting.archive, last.archive].toSorted(),
    `${old.archive} and ${failed.archive} should be gone`,
  )
})

test('the archive of a deployment that can be made live again stays: a rollback is rebuilt from it', async (t) => {
  const { shop, deploy, age, collect, blobs } = await setUp(t)
  const old = await deploy(shop, { archive: 'one' })
  await deploy(shop, { archive: 'two' })
  await deploy(shop, { archive: 'three' })
  await age()
  await collect()
  assert.equal(await blobs.has(old.archive), true)
})

test('an archive that another environment needs stays', async (t) => {
  const { shop, environment, deploy, age, collect, blobs } = await setUp(t)
  const other = await environment()
  const shared = await deploy(other, { archive: 'shared' })
  await deploy(shop, { archive: 'shared' })
  await deploy(shop, { archive: 'newer' })
  await age()
  await collect()
  assert.equal(await blobs.has(shared.archive), true)
})

test('an archive that was just received stays, although no row refers to it yet', async (t) => {
  const { shop, build, age, collect, blobs } = await setUp(t)
  await build(shop, { archive: 'one' })
  await build(shop, { archive: 'two' })
  await age()
  const source = async function* () {
    yield Buffer.from('one')
  }
  const { digest } = await blobs.put(source())
  await collect()
  assert.equal(await blobs.has(digest), true)
})

test('archives in a store that all processes share are removed by the leader alone, and not after its term', async (t) => {
  const { shop, deploy, age, blobs, sql, buildRetention, ...modules } = await setUp(t)
  const figures = { forgetAllBut: async () => undefined }
  for (const archive of ['one', 'two', 'three', 'four']) {
    const old = await deploy(shop, { archive, output: 'same' })
    await sql.transaction((tx) => buildRetention.release(tx, { outputs: [old.id], packages: [] }))
  }
  await age()
  const collect = createCollect({ ...modules, sql, buildRetention, figures, sharesArchives: true })
  await collect(NEVER)
  await collect(NEVER, { ...LEADING, isOver: () => true })
  assert.equal((await blobs.list()).length, 4)
  let looks = 0
  await collect(NEVER, { ...LEADING, isOver: () => ++looks > 3 })
  const left = (await blobs.list()).length
  assert.ok(left === 2 || left === 3, `${left} are left`)
  await collect(NEVER, LEADING)
  assert.equal((await blobs.list()).length, 1)
})

test('outputs and packages without a build are removed', async (t) => {
  const { shop, deploy, buildRetention, sql, collect, dataDir } = await setUp(t)
  const { id } = await deploy(shop, { packages: 'x' })
  await sql.transaction((tx) => buildRetention.release(tx, { outputs: [id], packages: [id] }))
  assert.deepEqual(await collect(), { outputs: 1, packages: 1 })
  assert.deepEqual([await namesIn(dataDir, 'outputs'), await namesIn(dataDir, 'packages')], [[], []])
})

test('the work folder of a build that is over is removed, and that of one at work is not', async (t) => {
  const { shop, build, folders, collect, dataDir } = await setUp(t)
  const [over, atWork] = [await build(shop), await build(shop, { isOver: false })]
  for (const { id } of [over, atWork]) await mkdir(join(folders.work(shop.id, id), 'source'), { recursive: true })
  assert.deepEqual(await collect(), { work: 1 })
  assert.deepEqual(await namesIn(dataDir, 'environments', shop.id, 'work'), [atWork.id])
})

test('what an app wrote is removed when it runs no more, and not before', async (t) => {
  const { shop, deploy, folders, running, write, collect, dataDir, clock } = await setUp(t)
  const [old, draining, live] = [await deploy(shop), await deploy(shop), await deploy(shop)]
  for (const { deployment } of [old, draining, live])
    await write(join(folders.run(shop.id, deployment), 'own', 'file'), 'x')
  await mkdir(join(folders.runs(shop.id), `${old.deployment}.1.old`))
  await clock.advance(60 * 60_000)
  running.add(draining.deployment)
  assert.deepEqual(await collect(), { runs: 2 })
  const kept = [draining.deployment, live.deployment].toSorted()
  assert.deepEqual(await namesIn(dataDir, 'environments', shop.id, 'run'), kept)
})

test('what an app wrote stays while another process may run it or be about to', async (t) => {
  const { shop, deploy, folders, write, operation, finish, collect, clock } = await setUp(t)
  const [old] = [await deploy(shop), await deploy(shop)]
  await write(join(folders.run(shop.id, old.deployment), 'own', 'file'), 'x')
  assert.deepEqual(await collect(), {}, 'it was retired just now')
  await clock.advance(60 * 60_000)
  const activating = await operation(shop, old.deployment)
  assert.deepEqual(await collect(), {}, 'an operation makes it live')
  await finish(activating)
  assert.deepEqual(await collect(), { runs: 1 })
})

test('the folder and the logs of an environment that is gone are removed', async (t) => {
  const { shop, environment, build, folders, logs, sql, environments, write, collect, dataDir } = await setUp(t)
  await build(shop)
  const gone = await environment()
  for (const { id } of [shop, gone]) {
    await write(join(folders.cacheOf(id), 'file'), 'x')
    for (const kind of ['runtime', 'requests']) await write(join(dataDir, 'logs', kind, `${id}.log`), 'x')
  }
  await sql.transaction((tx) => environments.remove(tx, gone.id))
  assert.deepEqual(await collect(), { environments: 1, logs: 2 })
  assert.deepEqual(await namesIn(dataDir, 'environments'), [shop.id])
  for (const kind of ['runtime', 'requests']) assert.deepEqual(await logs.list(kind), [`${kind}/${shop.id}`])
})

test('logs stay of the last twenty builds, and of those that can be made live or are not over', async (t) => {
  const { shop, build, deploy, logs, collect } = await setUp(t)
  const live = await deploy(shop)
  const waiting = await build(shop, { isOver: false })
  const failed = []
  for (let count = 0; count < 25; count++) failed.push(await build(shop, { state: 'FAILED' }))
  assert.deepEqual(await collect(), { logs: 5 })
  const kept = [live, waiting, ...failed.slice(-20)].map(({ id }) => `builds/${id}`)
  assert.deepEqual((await logs.list('builds')).toSorted(), kept.toSorted())
})

test('a fault in one step does not stop the others', async (t) => {
  const { shop, deploy, buildRetention, sql, collect, ...modules } = await setUp(t)
  const { id } = await deploy(shop)
  await sql.transaction((tx) => buildRetention.release(tx, { outputs: [id], packages: [] }))
  const archives: Modules['archives'] = { ...modules.archives, collect: () => Promise.reject(new Error('a bad disk')) }
  const figures = { forgetAllBut: async () => undefined }
  assert.deepEqual(await createCollect({ ...modules, sql, buildRetention, archives, figures })(NEVER, LEADING), {
    outputs: 1,
  })
})

test('a database in which nothing ever happened removes nothing: the right one may be missing', async (t) => {
  const { collect, dataDir, write } = await setUp(t)
  await write(join(dataDir, 'outputs', 'a'.repeat(64), 'files', 'index.html'), 'x')
  await write(join(dataDir, 'environments', 'some', 'cache', 'file'), 'x')
  assert.deepEqual(await collect(), {})
  assert.deepEqual(await namesIn(dataDir, 'outputs'), ['a'.repeat(64)])
})

test('downloads that apps of an account share go when it has no environment any more', async (t) => {
  const { shop, account, deploy, collect, dataDir } = await setUp(t)
  await deploy(shop, {})
  for (const id of [shop.accountId, 'gone']) await mkdir(join(dataDir, 'tarballs', id), { recursive: true })
  assert.deepEqual(await collect(), { tarballs: 1 })
  assert.deepEqual(await namesIn(dataDir, 'tarballs'), [account.id])
})

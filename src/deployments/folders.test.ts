/** Ids and users of rows are checked before they become paths or users of processes, as a database may come from a backup. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { temporaryFolder } from '../../test/support/folder.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import type { Environment } from '../apps/index.ts'
import { createIds, systemClock, TENANT_UIDS } from '../base/index.ts'
import { createLineLogs, statement } from '../storage/index.ts'
import { createFolders } from './folders.ts'

const newId = createIds(systemClock)
const id = newId()

/** Texts with a slash, a dot or anything else that changes a path. */
const noIds = fc.oneof(
  fc.constantFrom('', '.', '..', '../x', '/etc', 'a/b', 'a/../../b', 'x\0', 'a b', '../../../etc'),
  fc.string({ maxLength: 80 }).filter((text) => !/^[A-Za-z0-9_-]{1,64}$/.test(text)),
)

test('no path is made of an invalid id', () => {
  const folders = createFolders('/data', { canChooseUsers: true })
  fc.assert(
    fc.property(noIds, (bad) => {
      for (const make of [
        () => folders.work(bad, id),
        () => folders.work(id, bad),
        () => folders.run(bad, id),
        () => folders.run(id, bad),
        () => folders.values(bad),
        () => folders.runs(bad),
        () => folders.cacheOf(bad),
      ])
        assert.throws(make, /not an id/)
    }),
  )
  assert.equal(folders.run(id, id), `/data/environments/${id}/run/${id}`)
})

test('nothing is removed by an invalid id', async (t) => {
  const modules = await openModules(t)
  const outside = join(await temporaryFolder(t), 'outside')
  await writeFile(outside, 'x')
  await mkdir(join(modules.dataDir, 'environments'), { recursive: true })
  const up = `../../../../../../..${outside}`
  await assert.rejects(modules.folders.remove(up), /not an id/)
  await assert.rejects(
    modules.folders.removeRun(id, up, () => false),
    /not an id/,
  )
  await assert.rejects(createLineLogs(join(modules.dataDir, 'logs')).remove(`builds/${up}`), /not the name of a log/)
  assert.throws(() => modules.packages.folderOf(up), /not an id/)
  await assert.rejects(async () => modules.outputs.remove(`sha256:${up}`), /not a digest/)
  await assert.rejects(async () => modules.blobs.remove(`sha256:${up}`), /not a digest/)
  assert.deepEqual(await readdir(join(outside, '..')), ['outside'])
})

test('a run folder that is being removed is out of the way of the next start at once', async (t) => {
  const { folders } = await openModules(t)
  const run = folders.run(id, id)
  await mkdir(run, { recursive: true })
  const removed = folders.removeRun(id, id, () => false)
  assert.ok(!existsSync(run))
  await mkdir(run)
  await removed
  assert.deepEqual(await readdir(folders.runs(id)), [id])
})

test('the run folder of an app that runs is not removed', async (t) => {
  const { folders } = await openModules(t)
  await mkdir(folders.run(id, id), { recursive: true })
  await folders.removeRun(id, id, () => true)
  assert.deepEqual(await readdir(folders.runs(id)), [id])
})

test('code runs as a user of the range for environments, or not at all', () => {
  const folders = createFolders('/data', { canChooseUsers: true })
  const userOf = (uid: number | null) => folders.userOf({ uid } as Environment)
  fc.assert(
    fc.property(fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 1000, 65_534)), (uid) => {
      if (Number.isInteger(uid) && uid >= TENANT_UIDS.min && uid <= TENANT_UIDS.max)
        assert.deepEqual(userOf(uid), { uid, gid: uid })
      else assert.throws(() => userOf(uid), /not the user of an environment/)
    }),
  )
  assert.throws(() => userOf(null), /has no user/)
})

test('an environment is given no user outside of the range', async (t) => {
  const modules = await openModules(t)
  const environment = await modules.environment()
  await modules.sql.transaction((tx) => tx.query(statement`UPDATE revisions SET value = -1 WHERE name = 'uids'`))
  const giving = modules.sql.transaction((tx) => modules.environments.assignUid(tx, environment))
  await assert.rejects(giving, /not the user of an environment/)
})

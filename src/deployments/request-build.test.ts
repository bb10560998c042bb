import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { house } from '../../test/support/upkeep.ts'
import type { resources } from '../contract/index.ts'
import type { Operation } from '../operations/index.ts'
import { toPage } from '../storage/index.ts'
import type { Asked } from '../triggers/index.ts'
import { createBuildRequests, type Quiet } from './request-build.ts'

async function open(t: Scope) {
  const rooms = await house(t)
  const environment = await rooms.environment()
  const { id, appName } = environment
  const { account, sql, clock, builds, operations, ledger } = rooms
  const requests = createBuildRequests(rooms)
  const path = { accountId: account.id, environmentId: id, appName }
  let uploads = 0

  const asker = (action: Asked['action']): Asked => ({
    action,
    source: 'WEBHOOK',
    address: '192.0.2.1',
    userAgent: 'test',
    requestedBy: { kind: 'WEBHOOK', name: 'test' },
    time: clock.now(),
  })

  return {
    ...rooms,
    environment,
    async upload(more: Partial<resources.Described> = {}): Promise<Operation> {
      const archive = { ...(await rooms.archiveOf(`upload ${++uploads}`)), ...more }
      const by: resources.Requester = { kind: 'USER', name: 'ada@example.com' }
      return sql.transaction((tx) => requests.upload(tx, account, appName, id, archive, by))
    },
    rebuild: (action: Asked['action'] = 'REBUILD', quiet?: Quiet, isForced = false): Promise<Operation> =>
      sql.transaction((tx) =>
        requests.rebuild(tx, account, appName, id, { asked: [asker(action)], isForced, ...(quiet ? { quiet } : {}) }),
      ),
    read: (operation: Operation) => operations.require(path, operation.id),
    buildOf: async (operation: Operation) => builds.ofOperation(sql, operation.id),
    satisfied: async () => (await ledger.list(id, toPage({}))).items.map(({ operationId }) => operationId),
  }
}

test('rebuilds that come while one waits join it, and the strongest wins', async (t) => {
  const { upload, finish, rebuild, read, buildOf } = await open(t)
  await finish((await upload()).id)
  const first = await rebuild()
  const joined = await rebuild('CLEAN_REBUILD')
  assert.equal(joined.id, first.id)
  assert.equal(joined.trigger, 'CLEAN_REBUILD')
  assert.equal((await rebuild()).id, first.id)
  assert.equal((await read(first)).trigger, 'CLEAN_REBUILD')
  const build = await buildOf(first)
  assert.deepEqual({ isClean: build?.isClean, trigger: build?.trigger }, { isClean: true, trigger: 'CLEAN_REBUILD' })
})

test('a rebuild that somebody forces is forced, also where it joins one that waits', async (t) => {
  const { upload, finish, rebuild, buildOf } = await open(t)
  await finish((await upload()).id)
  const waiting = await rebuild()
  assert.equal((await buildOf(waiting))?.isForced, false)
  assert.equal((await rebuild('REBUILD', undefined, true)).id, waiting.id)
  assert.equal((await buildOf(waiting))?.isForced, true)
  await rebuild()
  assert.equal((await buildOf(waiting))?.isForced, true, 'who joins it afterwards takes nothing back')
})

test('nothing can be rebuilt where nothing was uploaded', async (t) => {
  const { rebuild, satisfied } = await open(t)
  await assert.rejects(rebuild(), { reason: 'NOTHING_UPLOADED' })
  assert.deepEqual(await satisfied(), [])
})

test('an upload satisfies the rebuild that waits, also when a newer upload takes its place', async (t) => {
  const { upload, finish, rebuild, read, satisfied } = await open(t)
  await finish((await upload()).id)
  const rebuilt = await rebuild()
  const second = await upload()
  assert.deepEqual(await satisfied(), [second.id])
  const third = await upload()
  assert.deepEqual(await satisfied(), [third.id])
  assert.equal((await read(second)).error?.details[0]?.reason, 'SUPERSEDED')
  assert.equal((await read(rebuilt)).doneTime, null)
})

test('whoever joined an upload is satisfied by the one that takes its place', async (t) => {
  const { upload, rebuild, satisfied } = await open(t)
  const first = await upload()
  assert.equal((await rebuild()).id, first.id)
  const second = await upload()
  assert.deepEqual(await satisfied(), [second.id])
})

test('what was to be built clean is built clean, whichever upload comes after it', async (t) => {
  const { upload, finish, rebuild, buildOf } = await open(t)
  await finish((await upload()).id)
  await rebuild('CLEAN_REBUILD')
  const second = await upload()
  assert.equal((await buildOf(second))?.isClean, true)
  const third = await upload()
  assert.equal((await buildOf(third))?.isClean, true)
  assert.equal((await buildOf(third))?.trigger, 'UPLOAD')
})

test('further calls put the beginning off, but not for longer than the most', async (t) => {
  const { upload, finish, rebuild, clock } = await open(t)
  await finish((await upload()).id)
  const quiet = { ms: 10_000, mostMs: 25_000 }
  const begin = clock.now()
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, begin + 10_000)
  await clock.advance(8000)
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, begin + 18_000)
  await clock.advance(9000)
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, begin + 25_000)
})

test('whoever does not want to wait ends the waiting, and it does not begin anew', async (t) => {
  const { upload, finish, rebuild, read } = await open(t)
  await finish((await upload()).id)
  const quiet = { ms: 10_000, mostMs: 25_000 }
  const settling = await rebuild('REBUILD', quiet)
  assert.equal((await rebuild()).notBefore, null)
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, null)
  assert.equal((await read(settling)).notBefore, null)
})

test('a call joins an upload that waits without putting it off', async (t) => {
  const { upload, rebuild } = await open(t)
  const uploaded = await upload()
  const joined = await rebuild('REBUILD', { ms: 10_000, mostMs: 25_000 })
  assert.deepEqual({ id: joined.id, notBefore: joined.notBefore }, { id: uploaded.id, notBefore: null })
})

test('an upload has its sender, message and commit; a rebuild of its archive has the same words and its own requester', async (t) => {
  const { upload, finish, rebuild, read, buildOf } = await open(t)
  const described = { message: 'Fix the header', commit: { sha: 'a'.repeat(40), branch: 'main', isDirty: false } }
  const ada = { kind: 'USER', name: 'ada@example.com' }
  const sent = await upload(described)
  const wordsOf = ({ requestedBy, message, commit }: Operation) => ({ requestedBy, message, commit })
  assert.deepEqual(wordsOf(sent), { requestedBy: ada, ...described })
  assert.deepEqual(wordsOf(await read(sent)), { requestedBy: ada, ...described })
  const build = await buildOf(sent)
  assert.deepEqual([build?.requestedBy, build?.archive.message], [ada, 'Fix the header'])
  await finish(sent.id)

  const rebuilt = await rebuild()
  const webhook = { kind: 'WEBHOOK', name: 'test' }
  assert.deepEqual(wordsOf(rebuilt), { requestedBy: webhook, ...described })
  assert.deepEqual(wordsOf(await rebuild('CLEAN_REBUILD')), { requestedBy: webhook, ...described })
  assert.deepEqual((await buildOf(rebuilt))?.requestedBy, webhook)
})

test('an upload without words has none, whatever was said about the one before', async (t) => {
  const { upload, finish, read } = await open(t)
  await finish((await upload({ message: 'Fix the header' })).id)
  const { message, commit } = await read(await upload())
  assert.deepEqual({ message, commit }, { message: '', commit: null })
})

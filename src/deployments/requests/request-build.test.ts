import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import type { Plan } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import { createClaims } from '../../operations/claim.ts'
import type { Operation } from '../../operations/index.ts'
import { statement, toPage } from '../../storage/index.ts'
import type { Asked } from '../../triggers/index.ts'
import type { Quiet } from './build-queue.ts'
import { createBuildRequests } from './request-build.ts'

async function open(t: Scope) {
  const modules = await openModules(t)
  const environment = await modules.environment()
  const { id, appName } = environment
  const { account, sql, clock, builds, operations, ledger } = modules
  const requests = createBuildRequests(modules)
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
    ...modules,
    environment,
    async upload(more: Partial<resources.Described> = {}): Promise<Operation> {
      const archive = { ...(await modules.archiveOf(`upload ${++uploads}`)), ...more }
      const by: resources.Requester = { kind: 'USER', name: 'ada@example.com' }
      return sql.transaction((tx) => requests.upload(tx, { account, appName, environmentId: id }, archive, by))
    },
    rebuild: (action: Asked['action'] = 'REBUILD', quiet?: Quiet, isForced = false): Promise<Operation> =>
      sql.transaction((tx) =>
        requests.rebuild(
          tx,
          { account, appName, environmentId: id },
          { asked: [asker(action)], isForced, ...(quiet ? { quiet } : {}) },
        ),
      ),
    /** Like a worker that has examined the build and not begun. */
    async handOn(operation: Operation, meanwhile: () => Promise<unknown> = async () => undefined) {
      const claims = createClaims({
        sql,
        clock,
        owner: 'me',
        concurrency: { quick: 1, light: 2, build: 1 },
        hasSeveralAccounts: modules.accounts.areSeveral,
      })
      assert.equal((await claims.next(['light']))?.operation.id, operation.id)
      await meanwhile()
      return sql.transaction(async (tx) => {
        const ending = await requests.handOn(tx, account, operation)
        if ('response' in ending || 'error' in ending) await operations.end(tx, operation.id, 'me', ending)
        else await operations.handOn(tx, operation.id, 'me', ending)
        return ending
      })
    },
    cancel: (operation: Operation) => sql.transaction((tx) => operations.cancel(tx, path, operation.id)),
    waiting: () => sql.transaction((tx) => operations.waitingBuild(tx, path)),
    read: (operation: Operation) => operations.require(path, operation.id),
    buildOf: async (operation: Operation) => builds.ofOperation(sql, operation.id),
    satisfied: async () => (await ledger.list(id, toPage({}))).items.map(({ operationId }) => operationId),
  }
}

test('rebuilds that come while one waits join it, and a clean one makes it clean', async (t) => {
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

test('a forced rebuild is forced, also if it joins one that waits', async (t) => {
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

test('callers that joined an upload are satisfied by the one that takes its place', async (t) => {
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

test('further calls delay the beginning, but not beyond the maximum', async (t) => {
  const { upload, finish, rebuild, clock } = await open(t)
  await finish((await upload()).id)
  const quiet = { ms: 10_000, maxMs: 25_000 }
  const begin = clock.now()
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, begin + 10_000)
  await clock.advance(8000)
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, begin + 18_000)
  await clock.advance(9000)
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, begin + 25_000)
})

test('a call without a quiet period ends the waiting, and it does not begin again', async (t) => {
  const { upload, finish, rebuild, read } = await open(t)
  await finish((await upload()).id)
  const quiet = { ms: 10_000, maxMs: 25_000 }
  const settling = await rebuild('REBUILD', quiet)
  assert.equal((await rebuild()).notBefore, null)
  assert.equal((await rebuild('REBUILD', quiet)).notBefore, null)
  assert.equal((await read(settling)).notBefore, null)
})

test('a call joins a waiting upload without delaying it', async (t) => {
  const { upload, rebuild } = await open(t)
  const uploaded = await upload()
  const joined = await rebuild('REBUILD', { ms: 10_000, maxMs: 25_000 })
  assert.deepEqual({ id: joined.id, notBefore: joined.notBefore }, { id: uploaded.id, notBefore: null })
})

test('an upload has its sender, message and commit; a rebuild of its archive has the same description and its own requester', async (t) => {
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

test('an upload without a description has none, even if the one before had one', async (t) => {
  const { upload, finish, read } = await open(t)
  await finish((await upload({ message: 'Fix the header' })).id)
  const { message, commit } = await read(await upload())
  assert.deepEqual({ message, commit }, { message: '', commit: null })
})

test('a build that needs a program waits among those that do, and can still be joined and replaced', async (t) => {
  const { upload, handOn, waiting, rebuild, read } = await open(t)
  const first = await upload()
  assert.deepEqual(await handOn(first), { queue: 'build' })
  assert.equal((await waiting())?.id, first.id)
  assert.equal((await rebuild()).id, first.id)
  const second = await upload()
  assert.equal((await read(first)).error?.details[0]?.reason, 'SUPERSEDED')
  assert.equal((await waiting())?.id, second.id)
})

test('an upload that comes while the one before is examined takes its place', async (t) => {
  const { upload, handOn, waiting, rebuild, read, satisfied, buildOf } = await open(t)
  const first = await upload()
  assert.equal((await rebuild('CLEAN_REBUILD')).id, first.id)
  let newer: Operation | undefined
  await handOn(first, async () => {
    newer = await upload()
  })
  assert.equal((await read(first)).error?.details[0]?.reason, 'SUPERSEDED')
  assert.equal((await buildOf(first))?.state, 'CANCELLED')
  assert.equal((await waiting())?.id, newer?.id)
  assert.deepEqual(await satisfied(), [newer?.id])
  assert.equal((await buildOf(newer as Operation))?.isClean, true)
})

test('a rebuild that is examined while an upload comes ends as the upload does', async (t) => {
  const { upload, finish, handOn, rebuild, read, satisfied } = await open(t)
  await finish((await upload()).id)
  const rebuilt = await rebuild()
  let newer: Operation | undefined
  await handOn(rebuilt, async () => {
    newer = await upload()
  })
  assert.deepEqual(await satisfied(), [newer?.id])
  assert.equal((await read(rebuilt)).doneTime, null)
})

test('a rebuild that comes while an upload is examined ends as the upload does, and makes it clean if it is clean', async (t) => {
  const { upload, handOn, rebuild, waiting, buildOf } = await open(t)
  const uploaded = await upload()
  let later: Operation | undefined
  await handOn(uploaded, async () => {
    later = await rebuild('CLEAN_REBUILD')
  })
  assert.equal((await waiting())?.id, uploaded.id)
  assert.equal((await buildOf(uploaded))?.isClean, true)
  assert.equal((await buildOf(later as Operation))?.state, 'CANCELLED')
})

test('a build that is cancelled while it is examined ends without waiting for its turn', async (t) => {
  const { upload, handOn, cancel, read, buildOf, waiting } = await open(t)
  const first = await upload()
  await handOn(first, () => cancel(first))
  assert.equal((await read(first)).error?.details[0]?.reason, 'OPERATION_CANCELLED')
  assert.equal((await buildOf(first))?.state, 'CANCELLED')
  assert.equal(await waiting(), undefined)
})

test('a build waits among those that need a program if the last one needed one', async (t) => {
  const { upload, finish, rebuild, builds, buildOf, sql } = await open(t)
  const queueOf = async ({ id }: Operation) =>
    (await sql.query<{ queue: string }>(statement`SELECT queue FROM operations WHERE id = ${id}`))[0]?.queue
  const first = await upload()
  assert.equal(await queueOf(first), 'light')
  await builds.planned((await buildOf(first))?.id ?? '', { install: null, build: { argv: ['x'] } } as unknown as Plan)
  await finish(first.id)
  assert.equal(await queueOf(await rebuild()), 'build')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import type { resources } from '../contract/index.ts'
import { type Sql, toPage } from '../storage/index.ts'
import { createClaims } from './claim.ts'
import type { Operation, Queue } from './types.ts'
import { createWaiting } from './waiting.ts'

const PLACES = { quick: 8, light: 2, build: 8 }

async function setUp(t: Scope) {
  const { sql, clock, operations, accounts, newId } = await openCoreModules(t)
  const { id: accountId } = await accounts.create('ours')
  const claims = createClaims({ sql, clock, owner: 'me', concurrency: PLACES, hasSeveralAccounts: accounts.areSeveral })
  type Wanted = { trigger?: resources.Trigger; queue?: Queue; notBefore?: number; environmentId?: string }
  return {
    sql,
    clock,
    newId,
    ask: ({ trigger = 'UPLOAD', queue = 'build', notBefore, environmentId = newId() }: Wanted = {}) =>
      sql.transaction((tx) =>
        operations.request(tx, { accountId, appName: 'app', environmentId }, trigger, {
          queue,
          notBefore: notBefore ?? null,
        }),
      ),
    begin: (queue: Queue) => claims.next([queue]),
    waiting: (operation: Operation) => operations.waitingOf(operation),
    end: (operation: Operation) => sql.transaction((tx) => operations.end(tx, operation.id, 'me', { response: {} })),
    running: async () => (await operations.running(accountId, toPage({}))).items.map(({ id }) => id),
    /** An operation of another account. */
    async others() {
      const { id } = await accounts.create('theirs')
      const path = { accountId: id, appName: 'app', environmentId: newId() }
      await sql.transaction((tx) => operations.request(tx, path, 'UPLOAD', { queue: 'build', notBefore: null }))
    },
    satisfy: (operation: Operation, by: Operation) =>
      sql.transaction((tx) => operations.satisfyBy(tx, operation.id, by.id)),
  }
}

test('a build that is first in the queue is the next', async (t) => {
  const { ask, waiting } = await setUp(t)
  assert.deepEqual(await waiting(await ask()), { reason: 'NEXT', ahead: 0 })
})

test('a build waits for those that run and those ahead of it', async (t) => {
  const { ask, begin, waiting, end } = await setUp(t)
  const [first, , third] = [await ask(), await ask(), await ask()]
  await begin('build')
  assert.equal(await waiting(first), undefined)
  assert.deepEqual(await waiting(third), { reason: 'MACHINE', ahead: 2 })
  await end(first)
  assert.deepEqual(await waiting(third), { reason: 'MACHINE', ahead: 1 })
})

test('a build that runs no program does not wait for those that do', async (t) => {
  const { ask, begin, waiting } = await setUp(t)
  await ask()
  await begin('build')
  assert.deepEqual(await waiting(await ask({ queue: 'light' })), { reason: 'NEXT', ahead: 0 })
  assert.ok(await begin('light'))
})

test('a build that is claimed while its place is read does not wait for itself', async (t) => {
  const { ask, begin, sql, clock } = await setUp(t)
  const operation = await ask({ queue: 'light' })
  let queries = 0
  const claimedMeanwhile: Sql = {
    ...sql,
    async query(statement) {
      queries++
      if (queries === 2) assert.ok(await begin('light'))
      return sql.query(statement)
    },
  }
  const { waitingOf } = createWaiting({ sql: claimedMeanwhile, clock })
  assert.deepEqual(await waitingOf(operation), { reason: 'NEXT', ahead: 0 })
  assert.equal(await begin('light'), undefined, 'it was claimed meanwhile')
})

test('an operation waits for another one of its environment, and names its kind', async (t) => {
  const { ask, begin, waiting, newId } = await setUp(t)
  const environmentId = newId()
  await ask({ environmentId })
  await begin('build')
  const second = await ask({ environmentId, trigger: 'UPDATE', queue: 'quick' })
  assert.deepEqual(await waiting(second), { reason: 'ENVIRONMENT', ahead: 1, of: 'UPLOAD' })
})

test('a rebuild that an upload satisfies waits for it', async (t) => {
  const { ask, waiting, satisfy, newId } = await setUp(t)
  const environmentId = newId()
  const rebuild = await ask({ environmentId, trigger: 'REBUILD' })
  await satisfy(rebuild, await ask({ environmentId }))
  assert.equal((await waiting(rebuild))?.reason, 'ENVIRONMENT')
})

test('a rebuild in its quiet period waits for further calls, and then for its turn', async (t) => {
  const { ask, begin, waiting, clock } = await setUp(t)
  await ask()
  await begin('build')
  const rebuild = await ask({ trigger: 'REBUILD', notBefore: clock.now() + 5000 })
  assert.deepEqual(await waiting(rebuild), { reason: 'QUIET_PERIOD', ahead: 0 })
  await clock.advance(5000)
  assert.deepEqual(await waiting(rebuild), { reason: 'MACHINE', ahead: 1 })
})

test('the running operations of an account are those that run or wait, and none of another account', async (t) => {
  const { ask, begin, end, satisfy, running, others } = await setUp(t)
  const [first, second, third] = [await ask(), await ask(), await ask({ trigger: 'ACTIVATE', queue: 'quick' })]
  await others()
  assert.deepEqual(await running(), [third.id, second.id, first.id])
  await begin('build')
  assert.deepEqual(await running(), [third.id, second.id, first.id])
  await satisfy(third, second)
  await end(first)
  assert.deepEqual(await running(), [second.id])
})

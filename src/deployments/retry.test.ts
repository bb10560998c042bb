/** Rebuilds after an outage, on a real database and a clock that the test moves. The test decides whether servers answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { LEADING } from '../../test/support/leading.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import type { Account } from '../accounts/index.ts'
import type { Environment } from '../apps/index.ts'
import { Problem } from '../contract/index.ts'
import type { Endpoint } from '../engines/index.ts'
import { toPage } from '../storage/index.ts'
import { createRetries, MAX_REBUILDS } from './records/retries.ts'
import { createBuildRequests } from './requests/request-build.ts'
import { createRetry } from './retry.ts'

const INTERVAL_MS = 60_000
const DAY_MS = 24 * 60 * 60_000
const cms: Endpoint = { protocol: 'https', host: 'cms.example.com', port: 443 }

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, clock, account, operations, ledger } = modules
  const retries = createRetries({ sql, clock, intervalMs: INTERVAL_MS })
  const buildRequests = createBuildRequests(modules)
  const asked: string[] = []
  const state = { isUp: false, refusal: undefined as Problem | undefined }
  const parts = {
    ...modules,
    buildRequests,
    retries,
    answers: async ({ host, port }: Endpoint) => {
      asked.push(`${host}:${port}`)
      return state.isUp
    },
    async admitBuild() {
      if (state.refusal) throw state.refusal
    },
    term: LEADING,
    lookMs: INTERVAL_MS,
  }

  /** An environment with an archive, none of whose builds waits. */
  async function uploaded(of: Account = account): Promise<Environment> {
    const environment = await modules.environment(of)
    const archive = await modules.archiveOf(environment.id)
    const operation = await sql.transaction((tx) =>
      buildRequests.upload(tx, { account: of, appName: environment.appName, environmentId: environment.id }, archive),
    )
    await modules.finish(operation.id)
    return environment
  }

  return {
    ...parts,
    uploaded,
    state,
    asked,
    round: createRetry(parts).round,
    arrange: ({ id, accountId }: Environment, endpoints: Endpoint[] = [cms]) =>
      sql.transaction((tx) => retries.arrange(tx, { accountId, environmentId: id }, { buildId: 'build', endpoints })),
    retryOf: async ({ id }: Environment) => (await retries.of([id])).get(id),
    unfinished: async ({ id }: Environment) => operations.unfinishedOf(sql, id),
    sources: async ({ id }: Environment) =>
      (await ledger.list(id, toPage({}))).items.map(({ source, action }) => `${source} ${action}`),
  }
}

test('a held rebuild is requested again when the server answers, and not before', async (t) => {
  const { uploaded, arrange, round, state, asked, clock, unfinished, sources } = await open(t)
  const environment = await uploaded()
  await arrange(environment)
  await round()
  assert.deepEqual(asked, [], 'its time has not come')
  await clock.advance(INTERVAL_MS)
  await round()
  assert.deepEqual(asked, ['cms.example.com:443'])
  assert.deepEqual(await unfinished(environment), [])
  state.isUp = true
  await clock.advance(10 * INTERVAL_MS)
  await round()
  const [operation] = await unfinished(environment)
  assert.equal(operation?.trigger, 'REBUILD')
  assert.deepEqual(await sources(environment), ['SERVICE REBUILD'])
  await round()
  assert.equal((await unfinished(environment)).length, 1, 'and only once')
})

test('a server that stays unreachable is probed less and less often, and given up after a day', async (t) => {
  const { uploaded, arrange, round, asked, clock, retryOf } = await open(t)
  const environment = await uploaded()
  await arrange(environment)
  const pauses: number[] = []
  for (let rounds = 0; (await retryOf(environment))?.nextTime; rounds++) {
    assert.ok(rounds < 10_000, 'it comes to an end')
    const pauseMs = ((await retryOf(environment))?.nextTime ?? 0) - clock.now()
    pauses.push(pauseMs / INTERVAL_MS)
    await clock.advance(pauseMs)
    await round()
  }
  assert.deepEqual(pauses.slice(0, 7), [1, 2, 4, 8, 16, 20, 20])
  assert.ok(asked.length <= DAY_MS / (20 * INTERVAL_MS) + 10)
  assert.equal((await retryOf(environment))?.rebuilds, 0)
})

test('without a server to probe, it is built again a few times in growing intervals', async (t) => {
  const { uploaded, arrange, round, clock, finish, retryOf, unfinished } = await open(t)
  const environment = await uploaded()
  await arrange(environment, [])
  const pauses: number[] = []
  for (let rounds = 0; (await retryOf(environment))?.nextTime; rounds++) {
    assert.ok(rounds < 100, 'it comes to an end')
    const pauseMs = ((await retryOf(environment))?.nextTime ?? 0) - clock.now()
    pauses.push(pauseMs / INTERVAL_MS)
    await clock.advance(pauseMs)
    await round()
    const [operation] = await unfinished(environment)
    if (!operation) break
    await finish(operation.id)
    // It is held again.
    await arrange(environment, [])
  }
  assert.deepEqual(pauses, [20, 60, 180, 540, 1620])
  assert.equal(pauses.length, MAX_REBUILDS)
  assert.equal((await retryOf(environment))?.nextTime, null)
})

test('another held build does not extend the time, and one after it was given up starts a new retry', async (t) => {
  const { uploaded, arrange, clock, retryOf, retries, sql } = await open(t)
  const environment = await uploaded()
  await arrange(environment)
  const first = await retryOf(environment)
  await clock.advance(INTERVAL_MS / 2)
  await arrange(environment)
  assert.equal((await retryOf(environment))?.untilTime, first?.untilTime)
  await sql.transaction((tx) => retries.giveUp(tx, first as NonNullable<typeof first>))
  await arrange(environment)
  assert.equal((await retryOf(environment))?.untilTime, clock.now() + DAY_MS)
})

test('while a build of the environment waits or runs, no rebuild is requested', async (t) => {
  const { uploaded, arrange, round, state, clock, account, sql, buildRequests, archiveOf, unfinished } = await open(t)
  const environment = await uploaded()
  await arrange(environment)
  state.isUp = true
  const archive = await archiveOf('another')
  await sql.transaction((tx) =>
    buildRequests.upload(tx, { account, appName: environment.appName, environmentId: environment.id }, archive),
  )
  await clock.advance(INTERVAL_MS)
  await round()
  assert.deepEqual(
    (await unfinished(environment)).map(({ trigger }) => trigger),
    ['UPLOAD'],
  )
})

test('a rebuild that is refused now is tried later', async (t) => {
  const { uploaded, arrange, round, state, clock, unfinished, retryOf } = await open(t)
  const environment = await uploaded()
  await arrange(environment)
  Object.assign(state, { isUp: true, refusal: new Problem('QUOTA_EXCEEDED') })
  await clock.advance(INTERVAL_MS)
  await round()
  assert.deepEqual(await unfinished(environment), [])
  assert.ok(((await retryOf(environment))?.nextTime ?? 0) > clock.now())
  state.refusal = undefined
  await clock.advance(10 * INTERVAL_MS)
  await round()
  assert.equal((await unfinished(environment)).length, 1)
})

test('accounts take turns: one with many environments keeps no other waiting', async (t) => {
  const { uploaded, arrange, round, clock, accounts, asked } = await open(t)
  for (let count = 0; count < 30; count++) await arrange(await uploaded())
  const other = await uploaded(await accounts.create('other'))
  await arrange(other, [{ ...cms, host: 'other.example.com' }])
  await clock.advance(INTERVAL_MS)
  await round()
  assert.ok(asked.includes('other.example.com:443'))
  assert.ok(asked.length <= 8, `${asked.length} questions in one round`)
})

test('two services on one data folder request one rebuild', async (t) => {
  const parts = await open(t)
  const environment = await parts.uploaded()
  await parts.arrange(environment)
  parts.state.isUp = true
  await parts.clock.advance(INTERVAL_MS)
  await Promise.all([parts.round(), createRetry(parts).round()])
  assert.equal((await parts.unfinished(environment)).length, 1)
  assert.equal((await parts.retryOf(environment))?.rebuilds, 1)
})

test('nothing is retried for an environment that is being deleted, or after a good build', async (t) => {
  const { uploaded, arrange, round, state, clock, sql, environments, retryOf, retries, unfinished } = await open(t)
  const [going, good, stillDown] = [await uploaded(), await uploaded(), await uploaded()]
  for (const environment of [going, good, stillDown]) await arrange(environment)
  await sql.transaction((tx) => environments.markDeleting(tx, going.id))
  await sql.transaction((tx) => retries.endUnless(tx, good.id))
  await sql.transaction((tx) => retries.endUnless(tx, stillDown.id, new Set([cms.host])))
  assert.equal(await retryOf(good), undefined)
  assert.ok(await retryOf(stillDown), 'a build that did not reach the server either does not end it')
  state.isUp = true
  await clock.advance(INTERVAL_MS)
  await round()
  assert.equal(await retryOf(going), undefined)
  assert.deepEqual(await unfinished(going), [])
})

test('with an interval of 0 nothing is retried', async (t) => {
  const { sql, clock, uploaded } = await open(t)
  const retries = createRetries({ sql, clock, intervalMs: 0 })
  const { id, accountId } = await uploaded()
  const path = { accountId, environmentId: id }
  await sql.transaction((tx) => retries.arrange(tx, path, { buildId: 'build', endpoints: [cms] }))
  assert.equal((await retries.of([id])).size, 0)
})

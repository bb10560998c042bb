/** Wishes for fetches on a real database, with a clock that the test moves and a fetch that the test answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import { createLog, Secret } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import { createBuildRequests, requireOpen } from '../deployments/index.ts'
import { createVault, statement, toPage } from '../storage/index.ts'
import type { Asked } from '../triggers/index.ts'
import { createRepositoryRecords } from './records.ts'
import { createConnectedRepositories } from './repositories.ts'
import { createFetchRuns } from './run.ts'
import { createStatusRecords } from './status-records.ts'
import { createFetchWork, type FetchBranch } from './work.ts'

const { signal } = new AbortController()

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, clock, environments, account, ledger, operations } = modules
  const vault = createVault(Buffer.alloc(32, 1))
  const records = createRepositoryRecords({ ...modules, vault })
  const statuses = createStatusRecords({ ...modules, now: () => clock.now() })
  const environment = await modules.environment()
  const at = { account, appName: environment.appName, environmentId: environment.id }
  const archive = await modules.archiveOf(environment.id)
  const asked = (source: Asked['source'] = 'REPOSITORY'): Asked => ({
    ...{ action: 'DEPLOY', source, requestedBy: null, address: '', userAgent: '', time: clock.now() },
  })
  const repositories = createConnectedRepositories({
    sql,
    clock,
    records,
    requireOpen: (reader, ref) => requireOpen(environments, reader, ref),
    announce: () => undefined,
  })
  const given = { url: 'https://github.com/acme/site', token: 'the token' }
  await repositories.connect(at, { given, publicUrl: '', asked: asked('API') })

  let fetchBranch: FetchBranch = async () => ({ commit: sha(1), archive })
  let fetches = 0
  const previewed: string[] = []
  /** As a process of the service has it. */
  const process = () => {
    const log = createLog('silent')
    const work = createFetchWork({
      ...modules,
      log,
      records,
      statuses,
      buildRequests: createBuildRequests(modules),
      async deployBranch({ branch }) {
        previewed.push(branch)
        return []
      },
      admitBuild: async () => undefined,
      promise: async () => ({ cover: async () => undefined, received: () => undefined, giveBack: () => undefined }),
      async fetchBranch(source, options) {
        fetches++
        return fetchBranch(source, options)
      },
    })
    return createFetchRuns({ clock, log, records, work })
  }
  return {
    ...{ sql, clock, records, process, archive, asked, at, previewed },
    fetches: () => fetches,
    answer: (next: FetchBranch) => {
      fetchBranch = next
    },
    wish: (branch = 'main') =>
      sql.transaction(async (tx) => records.wish(tx, await records.require(tx, environment.id), branch, asked())),
    read: () => records.require(sql, environment.id),
    unfinished: () => operations.unfinishedOf(sql, environment.id),
    triggers: async () =>
      (await ledger.list(environment.id, toPage({ order: 'oldest' }))).items.map(
        ({ source, answer, reason = '', operationId }) =>
          `${source} ${answer} ${reason || (operationId ? 'built' : '-')}`,
      ),
    statuses: () => sql.query(statement`SELECT sha FROM commit_statuses`),
  }
}

const sha = (number: number): string => String(number).repeat(40).slice(0, 40)

test('what is asked for is fetched with the stored token, built once, and recorded', async (t) => {
  const { process, answer, archive, read, unfinished, triggers, statuses, wish, clock } = await open(t)
  answer(async ({ token, url, branch }, { known }) => {
    assert.ok(token instanceof Secret)
    assert.deepEqual([token.reveal(), url, branch, known], ['the token', 'https://github.com/acme/site', 'main', null])
    return { commit: sha(1), archive }
  })
  assert.equal(await process().runOne(signal), true)
  assert.equal(await process().runOne(signal), false)
  assert.equal((await unfinished()).length, 1)
  assert.deepEqual(await triggers(), ['API 200 built'])
  assert.deepEqual([(await read()).lastCommit, (await statuses()).length], [sha(1), 1])
  answer(async (_, { known }) => {
    assert.equal(known, sha(1))
    return { commit: sha(1) }
  })
  await clock.advance(1000)
  await wish()
  await process().runOne(signal)
  assert.deepEqual(await triggers(), ['API 200 built', 'REPOSITORY 200 -'])
  assert.equal((await unfinished()).length, 1)
})

test('two processes never fetch for one environment at once, and one that died is followed by another', async (t) => {
  const { process, answer, archive, clock, fetches, triggers, sql } = await open(t)
  const begun = Promise.withResolvers<void>()
  answer(() => {
    begun.resolve()
    return new Promise(() => undefined)
  })
  void process().runOne(signal)
  await begun.promise
  assert.equal(await process().runOne(signal), false)
  assert.equal(fetches(), 1)
  // A process that is dead does not renew its lease.
  await sql.transaction((tx) =>
    tx.query(statement`UPDATE repositories SET lease = 'dead', lease_until = ${clock.now()}`),
  )
  answer(async () => ({ commit: sha(2), archive }))
  assert.equal(await process().runOne(signal), true)
  assert.deepEqual(await triggers(), ['API 200 built'])
})

test('a call during a fetch leads to another one, and a fault that may pass is tried again', async (t) => {
  const { process, answer, archive, wish, clock, triggers, read, fetches } = await open(t)
  answer(async () => {
    await wish()
    return { commit: sha(1), archive }
  })
  await process().runOne(signal)
  answer(async () => {
    throw new Problem('REPOSITORY_UNREACHABLE')
  })
  assert.equal(await process().runOne(signal), true)
  assert.deepEqual(await triggers(), ['API 200 built'])
  assert.equal((await read()).problem?.reason, 'REPOSITORY_UNREACHABLE')
  assert.equal(await process().runOne(signal), false)
  await clock.advance(30_000)
  answer(async () => ({ commit: sha(1) }))
  assert.equal(await process().runOne(signal), true)
  assert.deepEqual(await triggers(), ['API 200 built', 'REPOSITORY 200 -'])
  assert.equal((await read()).problem, null)
  assert.equal(fetches(), 3)
})

test('the result of a fetch from an address that was changed meanwhile is not used', async (t) => {
  const { process, answer, archive, sql, records, read, unfinished } = await open(t)
  answer(async () => {
    const before = await read()
    await sql.transaction((tx) => records.update(tx, { ...before, url: 'https://github.com/acme/other' }))
    return { commit: sha(1), archive }
  })
  assert.equal(await process().runOne(signal), false)
  assert.deepEqual([(await read()).lastCommit, (await unfinished()).length], [null, 0])
})

test('a branch that is deleted while it is fetched gets no preview', async (t) => {
  const { process, answer, archive, sql, records, wish, at, previewed } = await open(t)
  await process().runOne(signal)
  await wish('kept')
  await process().runOne(signal)
  answer(async () => {
    await sql.transaction((tx) => records.forget(tx, at.environmentId, 'deleted'))
    return { commit: sha(1), archive }
  })
  await wish('deleted')
  assert.equal(await process().runOne(signal), true)
  assert.deepEqual(previewed, ['kept'])
})

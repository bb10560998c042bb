/** Schedules on a real database, with a clock that the test moves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { LEADING } from '../../test/support/leading.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import type { Environment } from '../apps/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { createBuildRequests, createClearCache, requireOpen } from '../deployments/index.ts'
import { LeadershipLost, statement, toPage } from '../storage/index.ts'
import { createScheduleRecords } from './records.ts'
import { createScheduleRuns } from './run.ts'
import { createSchedules } from './schedules.ts'

const HOUR_MS = 60 * 60_000

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, clock, environments, account, ledger, operations } = modules
  const state = { purges: 0, refusal: undefined as Problem | undefined }
  const buildRequests = createBuildRequests(modules)
  const records = createScheduleRecords(modules)
  const clearCache = createClearCache({
    ...modules,
    purges: {
      async everywhere() {
        state.purges++
      },
    },
    finishWithEnvironment: () => async () => ({ response: {} }),
  })
  const parts = {
    ...modules,
    records,
    buildRequests,
    clearCache,
    async admitBuild() {
      if (state.refusal) throw state.refusal
    },
    term: LEADING,
  }
  const schedules = createSchedules({
    sql,
    clock,
    records,
    requireOpen: (reader, ref) => requireOpen(environments, reader, ref),
  })
  const at = ({ id, appName }: Environment) => ({ account, appName, environmentId: id })

  return {
    ...parts,
    at,
    state,
    schedules,
    round: createScheduleRuns(parts).round,
    /** An environment with an archive, none of whose builds waits. */
    async uploaded(): Promise<Environment> {
      const environment = await modules.environment()
      const archive = await modules.archiveOf(environment.id)
      const operation = await sql.transaction((tx) => buildRequests.upload(tx, at(environment), archive))
      await modules.finish(operation.id)
      return environment
    },
    make: (of: Environment, given: Partial<resources.NewSchedule> = {}) =>
      schedules.create(at(of), { action: 'REBUILD', cron: '@hourly', ...given }),
    read: (of: Environment, { name }: resources.Schedule) =>
      schedules.get({ account: account.name, app: of.appName, environment: of.id }, name.split('/').at(-1) ?? ''),
    unfinished: async ({ id }: Environment) => operations.unfinishedOf(sql, id),
    triggers: async ({ id }: Environment) =>
      (await ledger.list(id, toPage({ order: 'oldest' }))).items.map(({ source, action, answer, reason = '' }) =>
        `${source} ${action} ${answer} ${reason}`.trim(),
      ),
  }
}

test('a build is requested when its time has come, and not before', async (t) => {
  const { uploaded, make, read, round, clock, unfinished, triggers } = await open(t)
  const environment = await uploaded()
  const schedule = await make(environment)
  await round()
  assert.deepEqual(await unfinished(environment), [])
  await clock.advance(HOUR_MS)
  await round()
  const [build, ...others] = await unfinished(environment)
  assert.deepEqual([build?.trigger, others], ['REBUILD', []])
  assert.deepEqual(build?.requestedBy, { kind: 'SCHEDULE', name: '@hourly UTC' })
  assert.deepEqual(await triggers(environment), ['SCHEDULE REBUILD 200'])
  const after = await read(environment, schedule)
  assert.ok(after.lastOperation.endsWith(`/operations/${build?.id}`))
  assert.ok(Date.parse(after.nextTimes[0] ?? '') > clock.now())
})

test('however many times passed while the service was down, they are caught up once', async (t) => {
  const { uploaded, make, round, clock, triggers } = await open(t)
  const environment = await uploaded()
  await make(environment)
  await clock.advance(100 * HOUR_MS)
  await round()
  await round()
  assert.deepEqual(await triggers(environment), ['SCHEDULE REBUILD 200'])
})

test('two processes that look at the same time request one build', async (t) => {
  const { uploaded, make, round, clock, triggers, unfinished } = await open(t)
  const environment = await uploaded()
  await make(environment)
  await clock.advance(HOUR_MS)
  await Promise.all([round(), round(), round()])
  assert.deepEqual(await triggers(environment), ['SCHEDULE REBUILD 200'])
  assert.equal((await unfinished(environment)).length, 1)
})

test('a process that does not lead any more requests nothing', async (t) => {
  const parts = await open(t)
  const environment = await parts.uploaded()
  await parts.make(environment)
  await parts.clock.advance(HOUR_MS)
  const check = () => Promise.reject(new LeadershipLost())
  await createScheduleRuns({ ...parts, term: { check } }).round()
  assert.deepEqual(await parts.triggers(environment), [])
  assert.deepEqual(await parts.unfinished(environment), [])
  await parts.round()
  assert.deepEqual(await parts.triggers(environment), ['SCHEDULE REBUILD 200'])
})

test('a run is left out while the build of the last one is not done, and recorded with the reason', async (t) => {
  const { uploaded, make, round, clock, triggers, unfinished, finish } = await open(t)
  const environment = await uploaded()
  await make(environment)
  await clock.advance(HOUR_MS)
  await round()
  const [build] = await unfinished(environment)
  await clock.advance(HOUR_MS)
  await round()
  await finish(build?.id ?? '')
  await clock.advance(HOUR_MS)
  await round()
  assert.deepEqual(await triggers(environment), [
    'SCHEDULE REBUILD 200',
    'SCHEDULE REBUILD 409 SCHEDULE_OVERLAPS',
    'SCHEDULE REBUILD 200',
  ])
})

test('a purge that is due is done, and recorded once', async (t) => {
  const { uploaded, make, read, round, clock, triggers, state } = await open(t)
  const environment = await uploaded()
  const schedule = await make(environment, { action: 'PURGE_CACHE', cron: '30 * * * *' })
  await clock.advance(HOUR_MS)
  await Promise.all([round(), round()])
  assert.deepEqual(await triggers(environment), ['SCHEDULE PURGE_CACHE 200'])
  assert.ok(state.purges >= 1)
  assert.notEqual((await read(environment, schedule)).lastOperation, '')
})

test('a run that is refused is recorded with the reason, and the next time comes', async (t) => {
  const { environment: newEnvironment, uploaded, make, read, round, clock, triggers, state } = await open(t)
  const [empty, full] = [await newEnvironment(), await uploaded()]
  const schedule = await make(empty)
  await make(full, { action: 'CLEAN_REBUILD' })
  state.refusal = undefined
  await clock.advance(HOUR_MS)
  await round()
  state.refusal = new Problem('QUOTA_EXCEEDED')
  await clock.advance(HOUR_MS)
  await round()
  assert.deepEqual(await triggers(empty), [
    'SCHEDULE REBUILD 400 NOTHING_UPLOADED',
    'SCHEDULE REBUILD 413 QUOTA_EXCEEDED',
  ])
  assert.equal((await triggers(full))[0], 'SCHEDULE CLEAN_REBUILD 200')
  assert.ok(Date.parse((await read(empty, schedule)).nextTimes[0] ?? '') > clock.now())
})

test('a paused schedule does not run, and what passed meanwhile is not caught up', async (t) => {
  const { uploaded, make, at, schedules, round, clock, triggers } = await open(t)
  const environment = await uploaded()
  const { name, etag } = await make(environment)
  const id = name.split('/').at(-1) ?? ''
  const change = (given: resources.ChangedSchedule) =>
    schedules.change(at(environment), id, { given, preconditions: [] })
  const paused = await change({ paused: true })
  assert.deepEqual(paused.nextTimes, [])
  assert.notEqual(paused.etag, etag)
  await clock.advance(5 * HOUR_MS)
  await round()
  await change({ paused: false })
  await round()
  assert.deepEqual(await triggers(environment), [])
  await clock.advance(HOUR_MS)
  await round()
  assert.deepEqual(await triggers(environment), ['SCHEDULE REBUILD 200'])
})

test('a change with an etag of an earlier version is refused', async (t) => {
  const { uploaded, make, at, schedules } = await open(t)
  const environment = await uploaded()
  const { name } = await make(environment)
  const id = name.split('/').at(-1) ?? ''
  const change = schedules.change(at(environment), id, { given: { paused: true }, preconditions: [['other']] })
  await assert.rejects(change, (error) => error instanceof Problem && error.reason === 'ETAG_MISMATCH')
})

test('an environment has a limited number of schedules, and they are deleted with it', async (t) => {
  const { uploaded, make, sql } = await open(t)
  const environment = await uploaded()
  for (let made = 0; made < 20; made++) await make(environment)
  await assert.rejects(make(environment), (error) => error instanceof Problem && error.reason === 'TOO_MANY_SCHEDULES')
  await sql.transaction((tx) => tx.query(statement`DELETE FROM environments WHERE id = ${environment.id}`))
  assert.deepEqual(await sql.query(statement`SELECT id FROM schedules`), [])
})

test('a schedule of an environment that is being deleted does not run', async (t) => {
  const { uploaded, make, round, clock, sql, environments, triggers } = await open(t)
  const environment = await uploaded()
  await make(environment)
  await sql.transaction((tx) => environments.markDeleting(tx, environment.id))
  await clock.advance(HOUR_MS)
  await round()
  assert.deepEqual(await triggers(environment), [])
})

/** Deliveries on a real database, with a clock that the test moves and a sender that does what the test says. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { LEADING } from '../../test/support/leading.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import { createNotices, createOutbox, createTargetRecords } from '../notices/index.ts'
import { createVault, LeadershipLost, toPage } from '../storage/index.ts'
import { createDeliveries } from './deliver.ts'
import type { Result } from './senders/result.ts'

const HOUR_MS = 60 * 60_000
const AWAY: Result = { isDelivered: false, mayPass: true, status: 503, error: 'away' }

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, clock, newId, accounts } = modules
  const targets = createTargetRecords({ sql, newId, vault: createVault(randomBytes(32)) })
  const outbox = createOutbox({ sql, clock, newId })
  const notices = createNotices({ clock, newId })
  const state = {
    sent: [] as string[],
    underWay: [] as string[],
    answer: async (_target: string): Promise<Result> => ({ isDelivered: true }),
  }
  const parts = {
    ...modules,
    targets,
    outbox,
    async send(target: { id: string; displayName: string }, { id }: { id: string }) {
      state.sent.push(id)
      state.underWay.push(target.displayName)
      return state.answer(target.displayName)
    },
    term: LEADING,
    publicUrl: () => 'https://headland.example.com',
    random: () => 0.5,
  }
  return {
    ...parts,
    state,
    process: (more: Partial<typeof parts> = {}) => createDeliveries({ ...parts, ...more }),
    async target(displayName = 'Team', account = modules.account) {
      const settings = {
        displayName,
        kind: 'SLACK' as const,
        address: { url: 'https://example.com/secret' },
        noticeKinds: ['BUILD_FAILED' as const],
        apps: [],
        isEnabled: true,
      }
      return sql.transaction((tx) => targets.insert(tx, account.id, settings, clock.now()))
    },
    record: (account = modules.account) =>
      sql.transaction((tx) =>
        notices.record(tx, { accountId: account.id, kind: 'BUILD_FAILED', resource: 'b', title: 'A', text: 'B' }),
      ),
    other: () => accounts.create('theirs'),
    deliveries: async ({ id }: { id: string }) =>
      (await outbox.list(modules.account.name, id, toPage({ order: 'oldest' }))).items,
  }
}

test('a notice is sent once', async (t) => {
  const { target, record, process, state, deliveries } = await open(t)
  const team = await target()
  await record()
  const { round } = process()
  await round()
  await round()
  assert.equal(state.sent.length, 1)
  const [{ state: end, attempts, endTime } = assert.fail()] = await deliveries(team)
  assert.deepEqual([end, attempts, typeof endTime], ['DELIVERED', 1, 'string'])
})

test('one that fails is tried eight times over a day, with the same id, and then given up', async (t) => {
  const { target, record, process, state, deliveries, clock } = await open(t)
  state.answer = async () => AWAY
  const team = await target()
  await record()
  const { round } = process()
  for (let hour = 0; hour < 40; hour++) {
    await round()
    await clock.advance(HOUR_MS)
  }
  assert.equal(state.sent.length, 8)
  assert.equal(new Set(state.sent).size, 1)
  const [delivery] = await deliveries(team)
  assert.deepEqual(
    [delivery?.state, delivery?.attempts, delivery?.responseStatus, delivery?.error],
    ['FAILED', 8, 503, 'away'],
  )
})

test('a receiver that is gone is switched off, and what waits for it ends', async (t) => {
  const { target, record, process, state, deliveries, targets, sql, account } = await open(t)
  state.answer = async () => ({ isDelivered: false, status: 410, isGone: true, error: '' })
  const team = await target()
  await record()
  await record()
  await process().round()
  const { isEnabled, disabledReason } = await targets.require(sql, account.id, team.id)
  assert.deepEqual([isEnabled, disabledReason], [false, 'GONE'])
  assert.deepEqual(
    (await deliveries(team)).map((one) => one.state),
    ['FAILED', 'ENDED'],
  )
})

test('what a process was sending when it died is sent again by the next leader, with the same id', async (t) => {
  const { target, record, process, state, deliveries, clock } = await open(t)
  const team = await target()
  await record()
  const never = Promise.withResolvers<Result>()
  state.answer = () => never.promise
  const dead = process().round()
  while (state.sent.length === 0) await clock.advance(0)
  state.answer = async () => ({ isDelivered: true })
  await process().round()
  assert.equal(state.sent.length, 2)
  assert.equal(new Set(state.sent).size, 1)
  // The answer to the first one comes after all, and changes nothing.
  never.resolve(AWAY)
  await dead
  const [delivery] = await deliveries(team)
  assert.deepEqual([delivery?.state, delivery?.attempts, delivery?.error], ['DELIVERED', 2, ''])
})

test('a process that does not lead any more sends nothing', async (t) => {
  const { target, record, process, state } = await open(t)
  await target()
  await record()
  let checks = 0
  const lost = {
    ...LEADING,
    async check() {
      if (checks++ > 0) throw new LeadershipLost()
    },
  }
  await process({ term: lost }).round()
  assert.equal(checks, 2)
  assert.deepEqual(state.sent, [])
})

test('an account with many slow receivers does not hold up another one, and one target gets one at a time', async (t) => {
  const { target, record, process, state, other } = await open(t)
  const theirs = await other()
  for (let at = 0; at < 20; at++) await target(`slow ${at}`)
  await target('quick', theirs)
  await record()
  await record()
  await record(theirs)
  const release = Promise.withResolvers<Result>()
  state.answer = async (name) => (name === 'quick' ? { isDelivered: true } : release.promise)
  const running = process()
  const one = running.round()
  while (state.underWay.length < 5) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(state.underWay.filter((name) => name.startsWith('slow')).length, 4)
  assert.ok(state.underWay.includes('quick'))
  release.resolve({ isDelivered: true })
  await one
  for (let at = 0; at < 12; at++) await running.round()
  assert.equal(state.sent.length, 41)
})

test('a process that stops gives back what it was sending, and that is not counted as a try', async (t) => {
  const { target, record, process, state, deliveries, outbox } = await open(t)
  const team = await target()
  await record()
  const release = Promise.withResolvers<Result>()
  state.answer = () => release.promise
  const running = process().start()
  while (state.sent.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const stopped = running.stop()
  release.resolve(AWAY)
  await stopped
  const [delivery] = await deliveries(team)
  assert.deepEqual([delivery?.state, delivery?.attempts], ['WAITING', 0])
  assert.equal((await outbox.due()).length, 1)
})

test('what was delivered long ago is forgotten, with its notice', async (t) => {
  const { target, record, process, deliveries, clock } = await open(t)
  const team = await target()
  await record()
  const running = process()
  await running.round()
  await clock.advance(31 * 24 * HOUR_MS)
  await running.forget()
  assert.deepEqual(await deliveries(team), [])
})

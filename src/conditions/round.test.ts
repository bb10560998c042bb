/** Rounds on a real database, with a clock that the test moves, and states that the test sets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { LEADING } from '../../test/support/leading.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import type { resources } from '../contract/index.ts'
import { createConditionRecords, createNotices, createTargetRecords } from '../notices/index.ts'
import { createVault, LeadershipLost, statement } from '../storage/index.ts'
import type { CertificateFacts } from './certificates.ts'
import type { LiveApp } from './crash-loops.ts'
import { createConditionRounds } from './round.ts'

const MINUTE_MS = 60_000

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, clock, account } = modules
  const [notices, records] = [createNotices(modules), createConditionRecords(modules)]
  const targets = createTargetRecords({ ...modules, vault: createVault(Buffer.alloc(32)) })
  const state = {
    apps: [] as LiveApp[],
    certificates: [] as CertificateFacts[],
    bytes: { used: 0, limit: 100 },
    disk: { used: 0, limit: 100, host: 'one' },
  }
  const parts = {
    ...modules,
    notices,
    records,
    operatorAccounts: ['operators'],
    liveApps: async () => state.apps,
    certificates: async () => state.certificates,
    fillOf: async () => ({ bytes: state.bytes, files: { used: 0, limit: 0 }, counted: [] }),
    disk: async () => state.disk,
    term: LEADING,
  }

  async function want(noticeKinds: resources.NoticeKind[], of = account) {
    const address = { url: 'https://hooks.example.com/' }
    const given = { displayName: 'x', kind: 'SLACK', address, noticeKinds, apps: [], isEnabled: true } as const
    return sql.transaction((tx) => targets.insert(tx, of.id, { ...given, apps: [] }, clock.now()))
  }

  return {
    ...parts,
    state,
    targets,
    want,
    round: createConditionRounds(parts).round,
    /** Since the last time. */
    async told(): Promise<string[]> {
      const rows = await sql.query<{ id: string; kind: string; name: string }>(statement`
        SELECT n.id, n.kind, a.name FROM notices n JOIN accounts a ON a.id = n.account_id ORDER BY n.id`)
      await sql.transaction((tx) => tx.query(statement`DELETE FROM notices`))
      return rows.map(({ kind, name }) => `${kind} ${name}`)
    },
  }
}

const looping = (accountId: string, given: Partial<LiveApp> = {}): LiveApp => ({
  environmentId: 'e1',
  accountId,
  accountName: 'ours',
  appName: 'shop',
  environment: 'Production',
  deployment: 'd1',
  status: { state: 'CRASH_LOOP', restarts: 5 },
  siteUrl: '',
  ...given,
})

test('a crash loop is told once, and again after it was over', async (t) => {
  const { account, state, want, round, told, clock, environment } = await open(t)
  const { id: environmentId } = await environment()
  await want(['APP_CRASH_LOOP'])
  const status = (restarts: number, isUp: boolean) => {
    state.apps = [looping(account.id, { environmentId, status: { state: isUp ? 'RUNNING' : 'CRASH_LOOP', restarts } })]
  }
  status(5, false)
  for (let rounds = 0; rounds < 3; rounds++) await round()
  assert.deepEqual(await told(), ['APP_CRASH_LOOP ours'])
  status(6, true)
  await round()
  await clock.advance(3 * MINUTE_MS)
  await round()
  status(11, false)
  await round()
  assert.deepEqual(await told(), ['APP_CRASH_LOOP ours'])
})

test('the next leader knows what was told', async (t) => {
  const parts = await open(t)
  const { id: environmentId } = await parts.environment()
  await parts.want(['APP_CRASH_LOOP'])
  parts.state.apps = [looping(parts.account.id, { environmentId })]
  const check = () => Promise.reject(new LeadershipLost())
  await createConditionRounds({ ...parts, term: { check } }).round()
  assert.deepEqual(await parts.told(), [], 'this one does not lead any more')
  await parts.round()
  await createConditionRounds(parts).round()
  assert.deepEqual(await parts.told(), ['APP_CRASH_LOOP ours'])
})

test('nothing is looked at for accounts that want no notices', async (t) => {
  const parts = await open(t)
  parts.state.bytes.used = 99
  const { round } = createConditionRounds({ ...parts, fillOf: () => assert.fail('it was looked at') })
  await round()
  assert.deepEqual(await parts.told(), [])
})

test('a quota is told at 90 % and again after it was below 85 %', async (t) => {
  const { state, want, round, told } = await open(t)
  await want(['QUOTA_NEARLY_FULL'])
  for (const used of [89, 91, 86, 95, 84]) {
    state.bytes.used = used
    await round()
  }
  assert.deepEqual(await told(), ['QUOTA_NEARLY_FULL ours'])
  state.bytes.used = 90
  await round()
  assert.deepEqual(await told(), ['QUOTA_NEARLY_FULL ours'])
})

test('of the disk and of certificates of the operator, accounts of operators are told', async (t) => {
  const { state, want, round, told, accounts, clock } = await open(t)
  const operators = await accounts.create('operators')
  for (const each of [undefined, operators]) await want(['DISK_NEARLY_FULL', 'CERTIFICATE_FAILING'], each)
  state.disk.used = 92
  state.certificates = [
    {
      id: 'c1',
      source: 'UPLOADED',
      state: 'ISSUED',
      attempts: 0,
      failure: null,
      accountId: null,
      names: ['*.sites.example'],
      notAfter: clock.now() + 60 * MINUTE_MS,
    },
  ]
  for (let rounds = 0; rounds < 2; rounds++) await round()
  assert.deepEqual(await told(), ['CERTIFICATE_FAILING operators', 'DISK_NEARLY_FULL operators'])
})

/** Which targets are told of what, on a real database. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { LEADING } from '../../test/support/leading.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import { LIMITS } from '../contract/index.ts'
import { createVault, statement, toPage } from '../storage/index.ts'
import { createNotices, type NewNotice } from './notices.ts'
import { createOutbox } from './outbox.ts'
import { createTargetRecords, type TargetSettings } from './targets.ts'

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, clock, newId, account } = modules
  const targets = createTargetRecords({ sql, newId, vault: createVault(randomBytes(32)) })
  const outbox = createOutbox({ sql, clock, newId })
  const notices = createNotices({ clock, newId })
  const about = { accountId: account.id, kind: 'BUILD_FAILED', resource: 'builds/1', title: 'A', text: 'B' } as const

  return {
    ...modules,
    targets,
    outbox,
    async target(given: Partial<TargetSettings> = {}) {
      const settings: TargetSettings = {
        displayName: 'Team',
        kind: 'WEBHOOK',
        address: { url: 'https://example.com/secret' },
        noticeKinds: ['BUILD_FAILED', 'BUILD_RECOVERED', 'DISK_NEARLY_FULL'],
        apps: [],
        isEnabled: true,
        ...given,
      }
      return sql.transaction((tx) => targets.insert(tx, account.id, settings, clock.now()))
    },
    record: (given: Partial<NewNotice> = {}) => sql.transaction((tx) => notices.record(tx, { ...about, ...given })),
    over: (key: string) => sql.transaction((tx) => notices.over(tx, account.id, key)),
    /** What a target was told, the oldest first. */
    async told({ id }: { id: string }) {
      const { items } = await outbox.list(account.name, id, toPage({ order: 'oldest', pageSize: 200 }))
      return items.map(({ kind }) => kind)
    },
    count: async () => (await sql.query(statement`SELECT id FROM notices`)).length,
  }
}

test('a notice goes to the targets that take its kind and its app', async (t) => {
  const { target, record, told } = await open(t)
  const all = await target()
  const ofShop = await target({ apps: ['Shop'] })
  const ofBlog = await target({ apps: ['blog'] })
  const ofDisk = await target({ noticeKinds: ['DISK_NEARLY_FULL'] })
  const off = await target({ isEnabled: false })
  await record({ appName: 'shop' })
  await record({ kind: 'DISK_NEARLY_FULL' })
  assert.deepEqual(await told(all), ['BUILD_FAILED', 'DISK_NEARLY_FULL'])
  assert.deepEqual(await told(ofShop), ['BUILD_FAILED', 'DISK_NEARLY_FULL'])
  assert.deepEqual(await told(ofBlog), ['DISK_NEARLY_FULL'])
  assert.deepEqual(await told(ofDisk), ['DISK_NEARLY_FULL'])
  assert.deepEqual(await told(off), [])
})

test('without a target nothing is written', async (t) => {
  const { target, record, count } = await open(t)
  await record({ dedupeKey: 'disk' })
  await target({ noticeKinds: ['BUILD_LIVE'] })
  await record({ dedupeKey: 'disk' })
  assert.equal(await count(), 0)
})

test('a condition that lasts is one notice until it is over', async (t) => {
  const { target, record, over, told } = await open(t)
  const one = await target()
  const disk = { kind: 'DISK_NEARLY_FULL', dedupeKey: 'disk' } as const
  await record(disk)
  await record(disk)
  await record({ ...disk, dedupeKey: 'another disk' })
  assert.equal((await told(one)).length, 2)
  await over('disk')
  await record(disk)
  assert.equal((await told(one)).length, 3)
})

test('a build recovers only after one of its environment failed, once, and is then not called live as well', async (t) => {
  const { target, record, told, environment } = await open(t)
  const both = await target({ noticeKinds: ['BUILD_RECOVERED', 'BUILD_LIVE'] })
  const live = await target({ noticeKinds: ['BUILD_LIVE'] })
  const [one, other] = [await environment(), await environment()]
  const succeed = async ({ id: environmentId }: { id: string }, resource: string) => {
    await record({ kind: 'BUILD_RECOVERED', environmentId, resource })
    await record({ kind: 'BUILD_LIVE', environmentId, resource })
  }
  await succeed(one, 'builds/1')
  await record({ environmentId: one.id, resource: 'builds/2' })
  await record({ environmentId: one.id, resource: 'builds/3' })
  await succeed(other, 'builds/4')
  await succeed(one, 'builds/5')
  await succeed(one, 'builds/6')
  assert.deepEqual(await told(both), ['BUILD_LIVE', 'BUILD_LIVE', 'BUILD_RECOVERED', 'BUILD_LIVE'])
  assert.deepEqual(await told(live), ['BUILD_LIVE', 'BUILD_LIVE', 'BUILD_LIVE', 'BUILD_LIVE'])
})

test('of a target that is away, the newest deliveries are kept', async (t) => {
  const { target, record, told } = await open(t)
  const one = await target()
  for (let at = 0; at < LIMITS.deliveriesKept + 5; at++) await record()
  assert.equal((await told(one)).length, LIMITS.deliveriesKept)
})

test('texts are one line or lines that hide nothing, and are cut', async (t) => {
  const { target, record, outbox, account } = await open(t)
  const { id } = await target()
  await record({ title: `one\r\nBcc: two\u202e${'x'.repeat(300)}`, text: '\u001b[31mred\u001b[0m\nline' })
  const [due] = await outbox.due()
  assert.ok(due)
  const claimed = await outbox.claim(due, { term: LEADING, leaseMs: 1000 })
  assert.match(claimed?.notice.title ?? '', /^one Bcc: two\\u202ex+…$/)
  assert.equal(claimed?.notice.title.length, LIMITS.noticeTitleLength)
  assert.equal(claimed?.notice.text, 'red\nline')
  assert.equal((await outbox.list(account.name, id, toPage({}))).items.length, 1)
})

test('where a notice is sent is sealed, and opens only in its own row', async (t) => {
  const { target, targets, sql, account } = await open(t)
  const [one, other] = [await target(), await target({ address: { url: 'https://example.org/other' } })]
  const rows = await sql.query(statement`SELECT sealed_address FROM notification_targets`)
  assert.doesNotMatch(JSON.stringify(rows), /example/)
  await sql.transaction((tx) =>
    tx.query(statement`UPDATE notification_targets SET sealed_address = (
      SELECT sealed_address FROM notification_targets WHERE id = ${other.id}) WHERE id = ${one.id}`),
  )
  await assert.rejects(targets.require(sql, account.id, one.id), /changed or moved/)
})

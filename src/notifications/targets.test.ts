/** What users may set, on a real database. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import { LIMITS, Problem, type Reason, type resources } from '../contract/index.ts'
import { createEgress } from '../egress/index.ts'
import { createOutbox, createTargetRecords } from '../notices/index.ts'
import { createVault, toPage } from '../storage/index.ts'
import { createNotificationTargets } from './targets.ts'

async function open(t: Scope, { hasMailServer = false } = {}) {
  const modules = await openModules(t)
  const { sql, clock, newId, account } = modules
  const targets = createNotificationTargets({
    sql,
    clock,
    newId,
    records: createTargetRecords({ sql, newId, vault: createVault(randomBytes(32)) }),
    outbox: createOutbox({ sql, clock, newId }),
    egress: createEgress({ allowedHosts: [], ownAddresses: [], blockedNetworks: [] }),
    send: async () => ({ isDelivered: true, status: 200 }),
    hasMailServer,
    publicUrl: () => 'https://headland.example.com',
  })
  const given = { displayName: 'Team', kind: 'SLACK', url: 'https://chat.example.com/hook' } as const
  const make = (more: Partial<resources.NewNotificationTarget> = {}) => targets.create(account, { ...given, ...more })
  return { ...modules, targets, make, idOf: ({ name }: { name: string }) => name.split('/').at(-1) ?? '' }
}

const because = (reason: Reason) => (error: unknown) => error instanceof Problem && error.reason === reason

test('e-mail needs a mail server of the operator', async (t) => {
  const { targets, account } = await open(t)
  const email = { displayName: 'Team', kind: 'EMAIL', addresses: ['team@example.com'] } as const
  await assert.rejects(
    targets.create(account, { ...email, addresses: [...email.addresses] }),
    because('EMAIL_NOT_SET_UP'),
  )
})

test('a change keeps what is absent, and is checked as at the beginning', async (t) => {
  const { targets, account, make, idOf } = await open(t)
  const made = await make({ apps: ['shop'] })
  const change = (given: resources.ChangedNotificationTarget) =>
    targets.change(account, idOf(made), { given, preconditions: [] })
  await assert.rejects(change({ url: 'https://10.0.0.1/' }), because('ADDRESS_NOT_ALLOWED'))
  await assert.rejects(change({ addresses: ['a@example.com'] }), because('FIELD_INVALID'))
  const changed = await change({ url: 'https://other.example.com/hook' })
  assert.deepEqual([changed.host, changed.apps, changed.displayName], ['other.example.com', ['shop'], 'Team'])
  assert.notEqual(changed.etag, made.etag)
})

test('an account has a limited number of targets, and sends a limited number of tests', async (t) => {
  const { targets, account, make, idOf, clock } = await open(t)
  const made = await make()
  for (let at = 1; at < LIMITS.notificationTargets; at++) await make()
  await assert.rejects(make(), because('TOO_MANY_NOTIFICATION_TARGETS'))
  const send = () => targets.test(account, idOf(made), new AbortController().signal)
  for (let at = 0; at < LIMITS.testNotices; at++) assert.equal((await send()).state, 'DELIVERED')
  await assert.rejects(send(), because('TOO_MANY_TEST_NOTICES'))
  await clock.advance(60_000)
  await send()
  assert.equal((await targets.deliveries(account, idOf(made), toPage({}))).items.length, LIMITS.testNotices + 1)
})

test('only a webhook has a secret', async (t) => {
  const { targets, account, make, idOf } = await open(t)
  const [chat, webhook] = [await make(), await make({ kind: 'WEBHOOK' })]
  assert.equal(chat.secret, undefined)
  await assert.rejects(targets.regenerateSecret(account, idOf(chat)), because('FIELD_INVALID'))
  assert.match(webhook.secret ?? '', /^whsec_/)
  assert.equal('secret' in (await targets.get(account, idOf(webhook))), false)
})

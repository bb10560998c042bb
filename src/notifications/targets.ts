/** Notification targets as users make, change and try them. The leader sends to them (`deliver.ts`). */
import type { Account } from '../accounts/index.ts'
import { etagOf, type Preconditions, requireEtag } from '../apps/index.ts'
import { type Clock, createBuckets, type NewId, toRfc3339 } from '../base/index.ts'
import { fieldInvalid, LIMITS, names, Problem, resources } from '../contract/index.ts'
import { type Egress, EgressRefused } from '../egress/index.ts'
import type { Outbox, SentNotice, TargetAddress, TargetRecord, TargetRecords } from '../notices/index.ts'
import type { Page, PageOf, Sql } from '../storage/index.ts'
import { toMessage } from './deliver.ts'
import type { Send } from './senders/send.ts'
import { newWebhookSecret } from './senders/signature.ts'

type Parts = {
  sql: Sql
  clock: Clock
  newId: NewId
  records: TargetRecords
  outbox: Outbox
  egress: Pick<Egress, 'check'>
  send: Send
  /** Whether the operator has set a mail server. */
  hasMailServer: boolean
  publicUrl(): string
}

/** For so long after a new secret was made, both sign. */
const EARLIER_SECRET_MS = 24 * 60 * 60_000

export function createNotificationTargets(parts: Parts) {
  const { sql, clock, newId, records, outbox, egress, send, hasMailServer, publicUrl } = parts
  const buckets = createBuckets(clock)

  /** Throws a problem that says what is wrong with it. */
  function checkAddress(kind: resources.TargetKind, { url, addresses }: TargetAddress) {
    if (kind === 'EMAIL') {
      if (!hasMailServer) throw new Problem('EMAIL_NOT_SET_UP')
      if (!addresses) throw fieldInvalid('addresses', 'must be given for EMAIL')
      if (url !== undefined) throw fieldInvalid('url', 'must not be given for EMAIL')
      return
    }
    if (url === undefined) throw fieldInvalid('url', `must be given for ${kind}`)
    if (addresses) throw fieldInvalid('addresses', 'must be given for EMAIL only')
    try {
      egress.check(url)
    } catch (error) {
      if (!(error instanceof EgressRefused)) throw error
      throw new Problem('ADDRESS_NOT_ALLOWED', `The service does not send there: ${error.message}.`)
    }
  }

  function testOf({ id }: TargetRecord, account: Account): SentNotice {
    return {
      kind: 'TEST',
      appName: null,
      environmentId: null,
      resource: names.notificationTargetResource(account.name, id),
      title: 'A test notice of Headland',
      text: 'It works: notices of this account are sent here.',
      link: null,
      createTime: clock.now(),
    }
  }

  return {
    async list(account: Account, page: Page): Promise<PageOf<resources.NotificationTarget>> {
      const { items, nextPageToken } = await records.list(account.id, page)
      return { items: items.map((record) => render(account, record)), nextPageToken }
    },

    get: async (account: Account, id: string): Promise<resources.NotificationTarget> =>
      render(account, await records.require(sql, account.id, id)),

    async create(
      account: Account,
      given: resources.NewNotificationTarget,
    ): Promise<resources.IssuedNotificationTarget> {
      const { displayName, kind, url, addresses, enabled = true, apps = [] } = given
      const noticeKinds = given.noticeKinds ?? [...resources.DEFAULT_NOTICE_KINDS]
      const address: TargetAddress = {
        ...(url === undefined ? {} : { url }),
        ...(addresses === undefined ? {} : { addresses }),
        ...(kind === 'WEBHOOK' ? { secret: newWebhookSecret() } : {}),
      }
      checkAddress(kind, address)
      return sql.transaction(async (tx) => {
        if ((await records.count(tx, account.id)) >= LIMITS.notificationTargets)
          throw new Problem('TOO_MANY_NOTIFICATION_TARGETS')
        const settings = { displayName, kind, address, noticeKinds, apps, isEnabled: enabled }
        return issued(account, await records.insert(tx, account.id, settings, clock.now()))
      })
    },

    change(
      account: Account,
      id: string,
      { given, preconditions }: { given: resources.ChangedNotificationTarget; preconditions: Preconditions },
    ): Promise<resources.NotificationTarget> {
      return sql.transaction(async (tx) => {
        const before = await records.require(tx, account.id, id)
        requireEtag(preconditions, targetEtag(before), 'notification target')
        const { url, addresses } = given
        const address: TargetAddress = {
          ...before.address,
          ...(url === undefined ? {} : { url }),
          ...(addresses === undefined ? {} : { addresses }),
        }
        if (url !== undefined || addresses !== undefined) checkAddress(before.kind, address)
        const settings = {
          displayName: given.displayName ?? before.displayName,
          kind: before.kind,
          address,
          noticeKinds: given.noticeKinds ?? before.noticeKinds,
          apps: given.apps ?? before.apps,
          isEnabled: given.enabled ?? before.isEnabled,
        }
        return render(account, await records.update(tx, before, settings, clock.now()))
      })
    },

    remove(account: Account, id: string, preconditions: Preconditions): Promise<void> {
      return sql.transaction(async (tx) => {
        const before = await records.require(tx, account.id, id)
        requireEtag(preconditions, targetEtag(before), 'notification target')
        await records.remove(tx, before)
      })
    },

    /** Of a webhook: a new key of its signatures. */
    regenerateSecret(account: Account, id: string): Promise<resources.IssuedNotificationTarget> {
      return sql.transaction(async (tx) => {
        const before = await records.require(tx, account.id, id)
        const { secret } = before.address
        if (secret === undefined) throw fieldInvalid('notificationTarget', 'must be a WEBHOOK: others have no secret')
        const earlier = { secret, until: clock.now() + EARLIER_SECRET_MS }
        const address = { ...before.address, secret: newWebhookSecret(), earlier }
        return issued(account, await records.update(tx, before, { ...before, address }, clock.now()))
      })
    },

    /** Sends a test notice now, once. */
    async test(account: Account, id: string, signal: AbortSignal): Promise<resources.NotificationDelivery> {
      const target = await records.require(sql, account.id, id)
      const rate = { atOnce: LIMITS.testNotices, perSecond: LIMITS.testNotices / 60 }
      const waitMs = buckets.take(account.id, 1, rate)
      if (waitMs > 0) {
        throw new Problem('TOO_MANY_TEST_NOTICES', undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
      }
      const delivery = { id: newId(), accountId: account.id, targetId: id, notice: testOf(target, account) }
      const result = await send(target, toMessage(delivery, account.name, publicUrl()), signal)
      const { isDelivered, status, error } = result
      await sql.transaction(async (tx) => {
        // It may have been deleted meanwhile.
        await records.require(tx, account.id, id)
        await outbox.addTest(tx, delivery, {
          state: isDelivered ? 'DELIVERED' : 'FAILED',
          ...(status === undefined ? {} : { status }),
          ...(error === undefined ? {} : { error }),
        })
      })
      const made = await outbox.get(account.name, id, delivery.id)
      if (!made) throw new Problem('NOTIFICATION_TARGET_NOT_FOUND')
      return made
    },

    async deliveries(account: Account, id: string, page: Page): Promise<PageOf<resources.NotificationDelivery>> {
      await records.require(sql, account.id, id)
      return outbox.list(account.name, id, page)
    },
  }
}

export type NotificationTargets = ReturnType<typeof createNotificationTargets>

/** Secrets are part of it only as what they do to a hash. */
const targetEtag = ({ id, displayName, address, noticeKinds, apps, isEnabled }: TargetRecord): string =>
  etagOf([id, displayName, address.url, address.addresses, noticeKinds, apps, isEnabled])

function render(account: Account, record: TargetRecord): resources.NotificationTarget {
  const { id, displayName, kind, address, noticeKinds, apps, isEnabled, disabledReason } = record
  return {
    name: names.notificationTargetResource(account.name, id),
    displayName,
    kind,
    ...(address.url === undefined ? {} : { host: new URL(address.url).host }),
    ...(address.addresses === undefined ? {} : { addresses: address.addresses }),
    noticeKinds,
    apps,
    enabled: isEnabled,
    ...(disabledReason === null ? {} : { disabledReason }),
    createTime: toRfc3339(record.createTime),
    updateTime: toRfc3339(record.updateTime),
    etag: targetEtag(record),
  }
}

const issued = (account: Account, record: TargetRecord): resources.IssuedNotificationTarget => ({
  ...render(account, record),
  ...(record.address.secret === undefined ? {} : { secret: record.address.secret }),
})

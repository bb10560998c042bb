/** Notification targets of an account: where notices about builds, apps, certificates and limits are sent. */
import { etagOf, expectedEtag } from '../../etag.ts'
import { LIMITS } from '../../limits.ts'
import * as names from '../../names.ts'
import { array, boolean, integer, object, oneOf, optional, type Static, string, time } from '../../schema.ts'

export const NOTICE_KINDS = [
  'BUILD_FAILED',
  'BUILD_RECOVERED',
  'BUILD_LIVE',
  'APP_CRASH_LOOP',
  'CERTIFICATE_FAILING',
  'DISK_NEARLY_FULL',
  'QUOTA_NEARLY_FULL',
  'PUBLISH_LATE',
] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]

/** Unless others are asked for: what a team has to act on, and that it is over. */
export const DEFAULT_NOTICE_KINDS: readonly NoticeKind[] = NOTICE_KINDS.filter((kind) => kind !== 'BUILD_LIVE')

export const TARGET_KINDS = ['WEBHOOK', 'SLACK', 'DISCORD', 'TEAMS', 'EMAIL'] as const
export type TargetKind = (typeof TARGET_KINDS)[number]

const targetKind = oneOf(TARGET_KINDS, {
  description:
    'What it is sent to: `WEBHOOK` is a signed call by the Standard Webhooks specification; `SLACK`, `DISCORD` and `TEAMS` are their incoming webhooks (of Teams, those of Workflows); `EMAIL` needs a mail server of the operator.',
})
const noticeKinds = array(oneOf(NOTICE_KINDS), {
  minItems: 1,
  maxItems: NOTICE_KINDS.length,
  uniqueItems: true,
  description:
    'What it is told about. A target that takes both `BUILD_LIVE` and `BUILD_RECOVERED` gets one of them for a build.',
})
const apps = array(names.appName, {
  maxItems: LIMITS.notificationApps,
  uniqueItems: true,
  description:
    'Only notices about these apps; empty for all. Notices about the account as a whole are sent in either case.',
})
const enabled = boolean({
  description: 'Whether notices are sent to it. When it is switched off, those that wait are not sent any more.',
})
const url = string({
  minLength: 1,
  maxLength: LIMITS.notificationUrlLength,
  description: 'Where it is sent, with `https:`. Not for `EMAIL`. It is a secret: answers have only its host.',
})
const emailAddress = string({
  minLength: 3,
  maxLength: LIMITS.emailLength,
  pattern: "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,188}[A-Za-z0-9])?$",
  'x-form': 'must be an e-mail address, such as team@example.com',
})
const addresses = array(emailAddress, {
  minItems: 1,
  maxItems: LIMITS.notificationAddresses,
  uniqueItems: true,
  description: 'E-mail addresses. Only for `EMAIL`.',
})

export const DISABLED_REASONS = ['GONE'] as const
export type DisabledReason = (typeof DISABLED_REASONS)[number]

const targetFields = {
  name: string({ description: '`accounts/{account}/notificationTargets/{notificationTarget}`' }),
  displayName: names.displayName,
  kind: targetKind,
  host: optional(string({ description: 'The host of its URL. The whole URL is a secret.' })),
  addresses: optional(array(string(), { description: 'Of `EMAIL`.' })),
  noticeKinds: array(oneOf(NOTICE_KINDS)),
  apps: array(string()),
  enabled,
  disabledReason: optional(
    oneOf(DISABLED_REASONS, {
      description:
        'Why the service has switched it off: `GONE`, as the receiver answered that it does not exist any more (410).',
    }),
  ),
  createTime: time('When it was made.'),
  updateTime: time('When it was last changed.'),
  etag: etagOf('what users set'),
}
export const notificationTarget = object(targetFields, { title: 'NotificationTarget' })
export type NotificationTarget = Static<typeof notificationTarget>

export const issuedNotificationTarget = object(
  {
    ...targetFields,
    secret: optional(
      string({ description: 'Of `WEBHOOK`: the key of its signatures, `whsec_` and base64. Shown this once.' }),
    ),
  },
  { title: 'IssuedNotificationTarget' },
)
export type IssuedNotificationTarget = Static<typeof issuedNotificationTarget>

export const newNotificationTarget = object(
  {
    displayName: names.displayName,
    kind: targetKind,
    url: optional(url),
    addresses: optional(addresses),
    noticeKinds: optional({ ...noticeKinds, default: DEFAULT_NOTICE_KINDS }),
    apps: optional({ ...apps, default: [] }),
    enabled: optional({ ...enabled, default: true }),
  },
  { title: 'NewNotificationTarget' },
)
export type NewNotificationTarget = Static<typeof newNotificationTarget>

export const changedNotificationTarget = object(
  {
    displayName: optional(names.displayName),
    url: optional(url),
    addresses: optional(addresses),
    noticeKinds: optional(noticeKinds),
    apps: optional(apps),
    enabled: optional(enabled),
    etag: expectedEtag,
  },
  { title: 'ChangedNotificationTarget', description: 'Absent fields keep their values. The kind cannot be changed.' },
)
export type ChangedNotificationTarget = Static<typeof changedNotificationTarget>

export const DELIVERY_STATES = ['WAITING', 'DELIVERED', 'FAILED', 'ENDED'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** What a delivery can be about: a notice, or a test of the target. */
export const DELIVERED_KINDS = [...NOTICE_KINDS, 'TEST'] as const
export type DeliveredKind = (typeof DELIVERED_KINDS)[number]

export const notificationDelivery = object(
  {
    name: string({
      description:
        '`accounts/…/notificationTargets/{notificationTarget}/deliveries/{delivery}`; its id is the `webhook-id`.',
    }),
    kind: oneOf(DELIVERED_KINDS),
    title: string({ description: 'What happened, in one line.' }),
    resource: string({ description: 'What it is about, by its name.' }),
    state: oneOf(DELIVERY_STATES, {
      description:
        '`WAITING` for its next try; `DELIVERED`; `FAILED`: it is not tried again; `ENDED`: the target was switched off first.',
    }),
    attempts: integer({ description: 'How often it was tried, one under way included.' }),
    responseStatus: optional(integer({ description: 'The HTTP status of the last answer.' })),
    error: string({ description: 'Why the last try failed; empty if it did not.' }),
    createTime: time('When it happened.'),
    nextTime: optional(time('When it is tried next.')),
    endTime: optional(time('When it was delivered, or given up.')),
  },
  { title: 'NotificationDelivery' },
)
export type NotificationDelivery = Static<typeof notificationDelivery>

/** Notification targets, what they are told, and what came of it, in words. */
import type { NoticeKind, NotificationDelivery, NotificationTarget, TargetKind } from '../../api/types.ts'

export const TARGETS: Readonly<Record<TargetKind, { word: string; address: string; help: string }>> = {
  WEBHOOK: {
    word: 'Webhook',
    address: 'URL',
    help: 'A server of yours. Each call is signed by the Standard Webhooks specification; the key is shown once, after this.',
  },
  SLACK: {
    word: 'Slack',
    address: 'Webhook URL',
    help: 'In Slack: api.slack.com/apps, your app, Incoming Webhooks, Add New Webhook. It begins with https://hooks.slack.com/services/.',
  },
  DISCORD: {
    word: 'Discord',
    address: 'Webhook URL',
    help: 'In Discord: Edit Channel, Integrations, Webhooks, New Webhook, Copy Webhook URL. It begins with https://discord.com/api/webhooks/.',
  },
  TEAMS: {
    word: 'Microsoft Teams',
    address: 'Workflow URL',
    help: 'In Teams: the menu of the channel, Workflows, “Send webhook alerts to a channel”. Copy the URL that it shows at the end.',
  },
  EMAIL: {
    word: 'E-mail',
    address: 'Addresses',
    help: 'One or more, with a comma between them. The operator must have set a mail server.',
  },
}

export const NOTICES: readonly { kind: NoticeKind; word: string; short: string; about: string }[] = [
  {
    kind: 'BUILD_FAILED',
    word: 'A build failed',
    short: 'Build failed',
    about: 'Or is held. Not while the service tries it again by itself.',
  },
  {
    kind: 'BUILD_RECOVERED',
    word: 'A build succeeded after a failure',
    short: 'Build recovered',
    about: 'The first one.',
  },
  { kind: 'BUILD_LIVE', word: 'A deployment went live', short: 'Live', about: 'Each one.' },
  {
    kind: 'APP_CRASH_LOOP',
    word: 'An app crashes again and again',
    short: 'Crash loop',
    about: 'Once, until it was stable again.',
  },
  {
    kind: 'CERTIFICATE_FAILING',
    word: 'A certificate is about to fail',
    short: 'Certificate',
    about: 'It could not be renewed, or an uploaded one expires soon.',
  },
  {
    kind: 'QUOTA_NEARLY_FULL',
    word: 'A quota is nearly full',
    short: 'Quota',
    about: 'At 90 %; once, until it was below 85 %.',
  },
  {
    kind: 'PUBLISH_LATE',
    word: 'A publish took too long',
    short: 'Late publish',
    about: 'Longer than the environment promises, from the call until it was visible.',
  },
  {
    kind: 'DISK_NEARLY_FULL',
    word: 'The disk is nearly full',
    short: 'Disk',
    about: 'Only accounts of operators are told.',
  },
]

/** All that calls for an action of the team. */
export const FIRST_CHOICE: readonly NoticeKind[] = NOTICES.map(({ kind }) => kind).filter(
  (kind) => kind !== 'BUILD_LIVE',
)

export function aboutWords(kinds: readonly NoticeKind[]): string {
  // Of the disk, accounts of operators are told alone.
  if (NOTICES.every(({ kind }) => kind === 'DISK_NEARLY_FULL' || kinds.includes(kind))) return 'Everything'
  const words = NOTICES.filter(({ kind }) => kinds.includes(kind)).map(({ short }) => short)
  return words.join(', ')
}

/** Where it goes, without what is secret of it. */
export const placeWords = ({ kind, host, addresses = [] }: Pick<NotificationTarget, 'kind' | 'host' | 'addresses'>) =>
  [TARGETS[kind].word, host ?? addresses.join(', ')].filter((part) => part !== '').join(', ')

export const deliveredKind = (kind: NotificationDelivery['kind']): string =>
  kind === 'TEST' ? 'Test' : (NOTICES.find((one) => one.kind === kind)?.short ?? kind)

type Tone = 'good' | 'busy' | 'bad' | 'warn' | 'idle'

export function deliveryWords({ state, attempts, responseStatus, error }: DeliveryFacts): {
  tone: Tone
  word: string
  why: string
} {
  const why = responseStatus === undefined ? error : `It answered ${responseStatus}${error ? `: ${error}` : '.'}`
  if (state === 'DELIVERED') return { tone: 'good', word: 'Delivered', why: '' }
  if (state === 'FAILED') return { tone: 'bad', word: 'Failed', why }
  if (state === 'ENDED') return { tone: 'idle', word: 'Not sent', why: why || 'The target was switched off first.' }
  return attempts === 0 ? { tone: 'busy', word: 'Being sent', why } : { tone: 'warn', word: 'Tried again soon', why }
}

type DeliveryFacts = Pick<NotificationDelivery, 'state' | 'attempts' | 'error'> & {
  responseStatus?: number | undefined
}

/** As the command line takes them. */
const TYPED: Readonly<Record<NoticeKind, string>> = {
  BUILD_FAILED: 'build-failed',
  BUILD_RECOVERED: 'build-recovered',
  BUILD_LIVE: 'build-live',
  APP_CRASH_LOOP: 'crash-loop',
  CERTIFICATE_FAILING: 'certificate',
  DISK_NEARLY_FULL: 'disk',
  QUOTA_NEARLY_FULL: 'quota',
  PUBLISH_LATE: 'publish-late',
}

export const typedNotices = (kinds: readonly NoticeKind[]): string[] => kinds.map((kind) => TYPED[kind])

/** E-mail addresses as they are typed: with commas, blanks or lines between them. */
export const addressesIn = (text: string): string[] => text.split(/[\s,;]+/).filter((part) => part !== '')

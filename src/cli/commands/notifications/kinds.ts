import type { resources } from '../../../contract/index.ts'

/** By the words that are typed. */
export const TARGETS = {
  webhook: 'WEBHOOK',
  slack: 'SLACK',
  discord: 'DISCORD',
  teams: 'TEAMS',
  email: 'EMAIL',
} as const satisfies Record<string, resources.TargetKind>

export const NOTICES = {
  'build-failed': 'BUILD_FAILED',
  'build-recovered': 'BUILD_RECOVERED',
  'build-live': 'BUILD_LIVE',
  'crash-loop': 'APP_CRASH_LOOP',
  certificate: 'CERTIFICATE_FAILING',
  disk: 'DISK_NEARLY_FULL',
  quota: 'QUOTA_NEARLY_FULL',
  'publish-late': 'PUBLISH_LATE',
} as const satisfies Record<string, resources.NoticeKind>

/** The typed word of a kind; the kind itself where a newer service knows others. */
export const wordOf = (words: Readonly<Record<string, string>>, kind: string): string =>
  Object.entries(words).find(([, known]) => known === kind)?.[0] ?? kind

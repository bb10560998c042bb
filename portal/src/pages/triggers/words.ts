/** What the ledger says, in words. */
import type { RecordedTrigger, TriggerAction, TriggerSource } from '../../api/types.ts'

export const ACTIONS: Record<TriggerAction, string> = {
  REBUILD: 'Rebuild',
  CLEAN_REBUILD: 'Clean Rebuild',
  PURGE_CACHE: 'Purge cache',
}

export const SOURCES: Record<TriggerSource, string> = {
  WEBHOOK: 'Webhook',
  API: 'API',
  APP: 'App',
  SERVICE: 'Headland',
}

/** Reasons that the ledger may have. One that is not here is shown by its name, which the error reference explains. */
export const REASONS: Readonly<Record<string, string>> = {
  NOTHING_UPLOADED: 'no archive was uploaded yet, so there is nothing to build',
  QUOTA_EXCEEDED: 'the account has used what it may',
  DISK_FULL: 'the disk of the machine is full',
  ISOLATION_MISSING: 'this machine cannot keep accounts apart, so nothing is built',
  PURGE_NOT_CONFIRMED: 'the edge did not confirm the purge in time',
  TOO_MANY_TRIGGERS: 'the webhooks were called too often; the calls after this one are not listed',
  STORAGE_UNAVAILABLE: 'the machine could not write it down',
  ENVIRONMENT_DELETING: 'the environment is being deleted',
}

export const reasonInWords = (reason: string): string | undefined =>
  Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined

/** The source that an address asks for; nothing where it asks for all, or for what there is not. */
export const sourceIn = (given: string | null): TriggerSource | undefined =>
  given !== null && Object.hasOwn(SOURCES, given) ? (given as TriggerSource) : undefined

const SHOWN_AT_ONCE = 3

export type PurgedInWords = { all: string; first?: undefined } | { all?: undefined; first: string[]; rest: number }

/** What a purge was about: everything, or the first few paths and tags and how many more there were. */
export function purgedInWords({ paths = [], tags = [], count }: NonNullable<RecordedTrigger['purged']>): PurgedInWords {
  if (count === 0) return { all: 'everything' }
  const first = [...paths, ...tags.map((tag) => `tag ${tag}`)].slice(0, SHOWN_AT_ONCE)
  return { first, rest: Math.max(0, count - first.length) }
}

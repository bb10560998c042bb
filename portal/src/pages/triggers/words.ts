/** Entries of the ledger in words. */
import type { RecordedAction, RecordedTrigger, TriggerAction, TriggerSource } from '../../api/types.ts'

/** What schedules and webhooks can ask for. */
export const ACTIONS: Record<TriggerAction, string> = {
  REBUILD: 'Rebuild',
  CLEAN_REBUILD: 'Clean Rebuild',
  PURGE_CACHE: 'Purge cache',
}

/** What the ledger records: no schedule or webhook asks for the last one. */
export const RECORDED: Record<RecordedAction, string> = { ...ACTIONS, DEPLOY: 'Deploy' }

export const SOURCES: Record<TriggerSource, string> = {
  WEBHOOK: 'Webhook',
  API: 'API',
  SCHEDULE: 'Schedule',
  REPOSITORY: 'Repository',
  PUSH: 'Push',
  APP: 'App',
  SERVICE: 'Headland',
}

/** Reasons in the ledger. A reason that is not listed here is shown by its name, which the error reference explains. */
export const REASONS: Readonly<Record<string, string>> = {
  NOTHING_UPLOADED: 'no archive was uploaded yet, so there is nothing to build',
  QUOTA_EXCEEDED: 'the account has reached its quota',
  DISK_FULL: 'the disk of the machine is full',
  ISOLATION_MISSING: 'this machine cannot isolate accounts, so nothing is built',
  PURGE_NOT_CONFIRMED: 'the edge did not confirm the purge in time',
  TOO_MANY_TRIGGERS: 'the webhooks were called too often; the calls after this one are not listed',
  STORAGE_UNAVAILABLE: 'the machine could not record it',
  SCHEDULE_OVERLAPS: 'the build of its last run was not done yet',
  REPOSITORY_AUTHENTICATION_FAILED: 'the repository is not there, or may not be read with the stored token or key',
  REPOSITORY_BRANCH_NOT_FOUND: 'the repository has no such branch',
  REPOSITORY_HOST_KEY_CHANGED: 'the server of the repository shows another key than before',
  REPOSITORY_TOO_LARGE: 'the commit is too large to be fetched, or took too long',
  REPOSITORY_UNREACHABLE: 'the server of the repository did not answer',
  REPOSITORY_FETCH_FAILED: 'git could not fetch the branch',
  ENVIRONMENT_DELETING: 'the environment is being deleted',
}

export const reasonInWords = (reason: string): string | undefined =>
  Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined

/** The source in the address; undefined if it asks for all, or for an unknown one. */
export const sourceIn = (given: string | null): TriggerSource | undefined =>
  given !== null && Object.hasOwn(SOURCES, given) ? (given as TriggerSource) : undefined

const SHOWN_AT_ONCE = 3

const OF_NEXT = '_N_T_'
const WHOLE_SITE = 'the whole site'

/**
 * A tag in words, as the service writes it (src/base/text/cache-tags.ts; a test compares): Next.js derives tags from
 * paths.
 */
export function tagInWords(tag: string): string {
  if (!tag.startsWith(`${OF_NEXT}/`)) return `tag ${tag}`
  // Folders in parentheses only group files, and are not part of an address.
  const steps = tag.slice(OF_NEXT.length).split('/').slice(1)
  const kind = steps.at(-1)
  const path = pathOf(kind === 'layout' || kind === 'page' ? steps.slice(0, -1) : steps)
  if (kind !== 'layout') return path
  return path === '/' ? WHOLE_SITE : `all pages under ${path}`
}

function pathOf(steps: readonly string[]): string {
  const shown = steps.filter((step) => !/^\(.*\)$/.test(step)).join('/')
  return shown === '' || shown === 'index' ? '/' : `/${shown}`
}

function someOf(names: readonly string[]): string {
  const rest = names.length - SHOWN_AT_ONCE
  return `${names.slice(0, SHOWN_AT_ONCE).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/**
 * The target of a purge, and whether the app itself requested it: `the whole site, by the app`, `/news and 37 more`.
 */
export function purgedInWords({ purged, source }: Pick<RecordedTrigger, 'purged' | 'source'>): string {
  if (!purged) return ''
  const { paths = [], tags = [], content, count } = purged
  if (content) return `pages that show ${someOf(content)}`
  const words = [...new Set([...paths, ...tags.map(tagInWords)])]
  const isAll = count === 0 || words.includes(WHOLE_SITE)
  const named = isAll ? [WHOLE_SITE] : words.slice(0, SHOWN_AT_ONCE)
  // Those that the ledger does not name, and those that are not shown here.
  const rest = isAll ? 0 : Math.max(0, count - paths.length - tags.length) + words.length - named.length
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}${source === 'APP' ? ', by the app' : ''}`
}

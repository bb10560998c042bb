/** Events of the audit log in words. */
import type { AuditAction, AuditEvent } from '../../api/types.ts'

export const ACTIONS: Record<AuditAction, string> = {
  CREATE_APP: 'Created an app',
  CHANGE_APP: 'Changed an app',
  DELETE_APP: 'Deleted an app',
  CREATE_ENVIRONMENT: 'Created an environment',
  CHANGE_ENVIRONMENT: 'Changed an environment',
  DELETE_ENVIRONMENT: 'Deleted an environment',
  OPEN_PREVIEW: 'Opened a preview',
  UPLOAD: 'Uploaded an archive',
  PUSH: 'Pushed commits',
  REBUILD: 'Requested a rebuild',
  CANCEL: 'Cancelled an operation',
  ACTIVATE: 'Activated a deployment',
  PROMOTE: 'Promoted a deployment',
  UNPIN: 'Ended a pin',
  PURGE_CACHE: 'Purged the cache',
  CHANGE_DOMAINS: 'Changed domains',
  UPLOAD_CERTIFICATE: 'Uploaded a certificate',
  DELETE_CERTIFICATE: 'Deleted a certificate',
  RETRY_CERTIFICATE: 'Retried a certificate',
  CREATE_WEBHOOKS: 'Created webhooks',
  CHANGE_WEBHOOKS: 'Changed webhooks',
  REGENERATE_WEBHOOKS: 'Regenerated webhooks',
  DELETE_WEBHOOKS: 'Deleted webhooks',
  CREATE_SCHEDULE: 'Created a schedule',
  CHANGE_SCHEDULE: 'Changed a schedule',
  DELETE_SCHEDULE: 'Deleted a schedule',
  CONNECT_REPOSITORY: 'Connected a repository',
  CHANGE_REPOSITORY: 'Changed a connected repository',
  REGENERATE_REPOSITORY_SECRET: 'Made a new secret for a repository',
  FETCH_REPOSITORY: 'Requested a fetch',
  DISCONNECT_REPOSITORY: 'Disconnected a repository',
  CREATE_NOTIFICATION_TARGET: 'Added a notification target',
  CHANGE_NOTIFICATION_TARGET: 'Changed a notification target',
  REGENERATE_NOTIFICATION_SECRET: 'Made a new secret for notices',
  DELETE_NOTIFICATION_TARGET: 'Deleted a notification target',
  CREATE_CREDENTIAL: 'Created API access',
  DELETE_CREDENTIAL: 'Revoked API access',
  ADD_USER: 'Added a user',
  CHANGE_ROLE: 'Changed a role',
  REMOVE_USER: 'Removed a user',
  ACCEPT_INVITATION: 'Accepted an invitation',
  DECLINE_INVITATION: 'Declined an invitation',
  LOG_IN: 'Logged in',
  CHANGE_PASSWORD: 'Changed their password',
  RESET_PASSWORD: 'Reset a password',
  CREATE_ACCOUNT: 'Created the account',
  CHANGE_CMS: 'Changed the address of a CMS',
}

export const WAYS: Record<AuditEvent['way'], string> = {
  PORTAL: 'Portal',
  API: 'API',
  COMMAND_LINE: 'Command line',
  GIT: 'Git',
  OPERATOR: 'Operator',
}

/** The action in the address; undefined if it asks for all, or for an unknown one. */
export const actionIn = (given: string | null): AuditAction | undefined =>
  given !== null && Object.hasOwn(ACTIONS, given) ? (given as AuditAction) : undefined

export const PERIODS = { day: 'Last day', week: 'Last week', month: 'Last month' } as const
export type Period = keyof typeof PERIODS

const DAYS: Record<Period, number> = { day: 1, week: 7, month: 30 }
const MINUTE_MS = 60_000

export const periodIn = (given: string | null): Period | undefined =>
  given !== null && Object.hasOwn(PERIODS, given) ? (given as Period) : undefined

/** The whole minute at which the period began, so that the same request is made for a while. */
export const startOf = (period: Period, now: number): string =>
  new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS - DAYS[period] * 24 * 60 * MINUTE_MS).toISOString()

/** What was changed, as people call it: `shop, Production`, `ann@example.com`. */
export function subjectOf({ resource, title }: Pick<AuditEvent, 'resource' | 'title'>): string {
  const [, , list, app] = resource.split('/')
  return [list === 'apps' ? app : '', title].filter(Boolean).join(', ')
}

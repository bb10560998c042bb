import { resources } from '../../../contract/index.ts'
import type { NotificationTargets } from '../../../notifications/index.ts'
import { toPage } from '../../../storage/index.ts'
import { preconditionsOf } from '../../preconditions.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../../route.ts'

const TARGETS = '/v1/accounts/{account}/notificationTargets'
const TARGET = '/v1/accounts/{account}/notificationTargets/{notificationTarget}'
const tag = 'Notifications'

type Parts = { notificationTargets: NotificationTargets; stopping: AbortSignal }

export const notificationRoutes = ({ notificationTargets, stopping }: Parts): Route[] => [
  route({
    method: 'GET',
    path: TARGETS,
    tag,
    summary: 'List the notification targets of an account',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('notificationTargets', resources.notificationTarget),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      const { items, nextPageToken } = await notificationTargets.list(account, toPage(pageRequest(query)))
      return { notificationTargets: items, nextPageToken }
    },
  }),
  route({
    method: 'POST',
    path: TARGETS,
    tag,
    summary: 'Send notices of the account somewhere; the secret of a webhook is in this answer only',
    access: 'owner',
    audited: 'CREATE_NOTIFICATION_TARGET',
    body: resources.newNotificationTarget,
    reply: resources.issuedNotificationTarget,
    problems: ['TOO_MANY_NOTIFICATION_TARGETS', 'ADDRESS_NOT_ALLOWED', 'EMAIL_NOT_SET_UP'],
    handle: ({ account, body }) => notificationTargets.create(account, body),
  }),
  route({
    method: 'GET',
    path: TARGET,
    tag,
    summary: 'Read a notification target',
    access: 'viewer',
    reply: resources.notificationTarget,
    problems: ['NOTIFICATION_TARGET_NOT_FOUND'],
    handle: ({ account, params }) => notificationTargets.get(account, params.notificationTarget),
  }),
  route({
    method: 'PATCH',
    path: TARGET,
    tag,
    summary: 'Change a notification target, or switch it on or off',
    access: 'owner',
    audited: 'CHANGE_NOTIFICATION_TARGET',
    body: resources.changedNotificationTarget,
    takesEtag: true,
    reply: resources.notificationTarget,
    problems: ['NOTIFICATION_TARGET_NOT_FOUND', 'ADDRESS_NOT_ALLOWED', 'EMAIL_NOT_SET_UP'],
    handle: ({ account, params, body, request }) =>
      notificationTargets.change(account, params.notificationTarget, {
        given: body,
        preconditions: preconditionsOf(request, body),
      }),
  }),
  route({
    method: 'DELETE',
    path: TARGET,
    tag,
    summary: 'Delete a notification target; notices that wait for it are not sent',
    access: 'owner',
    audited: 'DELETE_NOTIFICATION_TARGET',
    takesEtag: true,
    reply: resources.empty,
    problems: ['NOTIFICATION_TARGET_NOT_FOUND'],
    async handle({ account, params, request }) {
      await notificationTargets.remove(account, params.notificationTarget, preconditionsOf(request))
      return {}
    },
  }),
  route({
    method: 'POST',
    path: `${TARGET}:test`,
    tag,
    summary: 'Send a test notice now; the answer tells what became of it',
    access: 'developer',
    reply: resources.notificationDelivery,
    problems: ['NOTIFICATION_TARGET_NOT_FOUND', 'TOO_MANY_TEST_NOTICES'],
    handle: ({ account, params }) => notificationTargets.test(account, params.notificationTarget, stopping),
  }),
  route({
    method: 'POST',
    path: `${TARGET}:regenerateSecret`,
    tag,
    summary: 'Make a new secret for a webhook; for a day, calls are signed with both',
    access: 'owner',
    audited: 'REGENERATE_NOTIFICATION_SECRET',
    reply: resources.issuedNotificationTarget,
    problems: ['NOTIFICATION_TARGET_NOT_FOUND'],
    handle: ({ account, params }) => notificationTargets.regenerateSecret(account, params.notificationTarget),
  }),
  route({
    method: 'GET',
    path: `${TARGET}/deliveries`,
    tag,
    summary: 'List the last deliveries to a notification target',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('deliveries', resources.notificationDelivery),
    problems: ['NOTIFICATION_TARGET_NOT_FOUND', 'PAGE_TOKEN_INVALID'],
    async handle({ account, params, query }) {
      const page = toPage(pageRequest(query))
      const { items, nextPageToken } = await notificationTargets.deliveries(account, params.notificationTarget, page)
      return { deliveries: items, nextPageToken }
    },
  }),
]

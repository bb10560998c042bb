import type { Environments } from '../../apps/index.ts'
import { resources } from '../../contract/index.ts'
import type { Schedules } from '../../schedules/index.ts'
import { toPage } from '../../storage/index.ts'
import { environmentOf } from '../environment-of.ts'
import { preconditionsOf } from '../preconditions.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'

const SCHEDULES = '/v1/accounts/{account}/apps/{app}/environments/{environment}/schedules'
const tag = 'Schedules'

type Parts = { environments: Environments; schedules: Schedules }

export const scheduleRoutes = ({ environments, schedules }: Parts): Route[] => [
  route({
    method: 'GET',
    path: SCHEDULES,
    tag,
    summary: 'List the schedules of an environment, with the next times of each',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('schedules', resources.schedule),
    problems: ['ENVIRONMENT_NOT_FOUND', 'PAGE_TOKEN_INVALID'],
    async handle(call) {
      const { at } = await environmentOf(environments, call)
      const { items, nextPageToken } = await schedules.list(at, toPage(pageRequest(call.query)))
      return { schedules: items, nextPageToken }
    },
  }),
  route({
    method: 'POST',
    path: SCHEDULES,
    tag,
    summary: 'Request a rebuild or a purge again and again, at the times of a cron expression',
    access: 'developer',
    audited: 'CREATE_SCHEDULE',
    body: resources.newSchedule,
    reply: resources.schedule,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'TOO_MANY_SCHEDULES'],
    handle: ({ account, params: { app, environment }, body }) =>
      schedules.create({ account, appName: app, environmentId: environment }, body),
  }),
  route({
    method: 'GET',
    path: `${SCHEDULES}/{schedule}`,
    tag,
    summary: 'Read a schedule',
    access: 'viewer',
    reply: resources.schedule,
    problems: ['ENVIRONMENT_NOT_FOUND', 'SCHEDULE_NOT_FOUND'],
    async handle(call) {
      const { at } = await environmentOf(environments, call)
      return schedules.get(at, call.params.schedule)
    },
  }),
  route({
    method: 'PATCH',
    path: `${SCHEDULES}/{schedule}`,
    tag,
    summary: 'Change, pause or resume a schedule',
    access: 'developer',
    audited: 'CHANGE_SCHEDULE',
    body: resources.changedSchedule,
    takesEtag: true,
    reply: resources.schedule,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'SCHEDULE_NOT_FOUND'],
    handle: ({ account, params: { app, environment, schedule }, body, request }) =>
      schedules.change({ account, appName: app, environmentId: environment }, schedule, {
        given: body,
        preconditions: preconditionsOf(request, body),
      }),
  }),
  route({
    method: 'DELETE',
    path: `${SCHEDULES}/{schedule}`,
    tag,
    summary: 'Delete a schedule; what it has requested goes on',
    access: 'developer',
    audited: 'DELETE_SCHEDULE',
    takesEtag: true,
    reply: resources.empty,
    problems: ['ENVIRONMENT_NOT_FOUND', 'SCHEDULE_NOT_FOUND'],
    async handle(call) {
      const { account, params, request } = call
      const { path } = await environmentOf(environments, call)
      await schedules.remove({ account, ...path }, params.schedule, preconditionsOf(request))
      return {}
    },
  }),
]

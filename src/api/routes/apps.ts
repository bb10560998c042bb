import type { Apps } from '../../apps/index.ts'
import { type Ceilings, names, resources, schema } from '../../contract/index.ts'
import type { Requests } from '../../deployments/index.ts'
import { toPage } from '../../storage/index.ts'
import { preconditionsOf } from '../preconditions.ts'
import { renderApp } from '../render.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'

const APPS = '/v1/accounts/{account}/apps'
const tag = 'Apps'

type Parts = {
  apps: Apps
  requests: Requests
  ceilings: Ceilings
  /** Throws if no app can run there. */
  admitRegion(region: resources.App['region']): Promise<void>
}

export const appRoutes = ({ apps, requests, ceilings, admitRegion }: Parts): Route[] => [
  route({
    method: 'POST',
    path: APPS,
    tag,
    summary: 'Create an app',
    access: 'developer',
    audited: 'CREATE_APP',
    query: schema.object({ appId: names.appName }),
    body: resources.newApp,
    reply: null,
    problems: ['APP_EXISTS', 'ACCOUNT_LIMIT', 'REGION_UNAVAILABLE'],
    async handle({ account, query, body }) {
      await admitRegion(body.region)
      await apps.create(account.id, query.appId, body.region, { max: ceilings.APPS })
    },
  }),
  route({
    method: 'GET',
    path: APPS,
    tag,
    summary: 'List the apps of an account',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('apps', resources.app),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      const { items, nextPageToken } = await apps.list(account.id, toPage(pageRequest(query)))
      return { apps: items.map((app) => renderApp(account, app)), nextPageToken }
    },
  }),
  route({
    method: 'GET',
    path: `${APPS}/{app}`,
    tag,
    summary: 'Read an app',
    access: 'viewer',
    reply: resources.app,
    problems: ['APP_NOT_FOUND'],
    handle: async ({ account, params }) => renderApp(account, await apps.require(account.id, params.app)),
  }),
  route({
    method: 'DELETE',
    path: `${APPS}/{app}`,
    tag,
    summary: 'Delete an app',
    access: 'developer',
    audited: 'DELETE_APP',
    query: schema.object({
      force: schema.optional(schema.boolean({ description: 'Delete its environments with it.' })),
    }),
    body: resources.deletion,
    bodyIsOptional: true,
    takesEtag: true,
    reply: resources.empty,
    problems: ['APP_NOT_FOUND', 'APP_HAS_ENVIRONMENTS'],
    async handle({ account, params, query, body, request, principal: { requester: requestedBy } }) {
      const preconditions = preconditionsOf(request, body)
      await requests.deleteApp(account, params.app, { force: query.force ?? false, preconditions, requestedBy })
      return {}
    },
  }),
]

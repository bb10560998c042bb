import type { Environments } from '../../apps/index.ts'
import { toRfc3339 } from '../../base/index.ts'
import { names, resources, schema } from '../../contract/index.ts'
import type { Deployments } from '../../deployments/index.ts'
import type { Instances } from '../../runtime/index.ts'
import { toPage } from '../../storage/index.ts'
import type { Traffic } from '../../traffic/index.ts'
import { environmentOf } from '../environment-of.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'

const tag = 'Usage'

type Parts = {
  environments: Environments
  traffic: Traffic
  deployments: Pick<Deployments, 'liveFactsOf'>
  instances: Pick<Instances, 'of' | 'awake'>
}

export const trafficRoutes = ({ environments, traffic, deployments, instances }: Parts): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/activity',
    tag,
    summary: 'List what each environment of an account does now: its visits, its app and its memory',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('activity', resources.activity),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      const page = toPage(pageRequest(query), `${account.id}/activity`)
      const { items, nextPageToken } = await environments.listOfAccount(account.id, page)
      const visits = await traffic.recent(items.map(({ id }) => id))
      const live = await deployments.liveFactsOf(items.flatMap(({ liveDeployment }) => liveDeployment ?? []))
      const awake = await instances.awake(account.id)
      const activity = items.map(({ id, appName, liveDeployment }): resources.Activity => {
        const at = { account: account.name, app: appName, environment: id }
        const { liveTime = null, commit = null } = live.get(liveDeployment ?? '') ?? {}
        const running = liveDeployment ? instances.of(liveDeployment) : undefined
        return {
          name: names.environmentActivityResource(at),
          deployment: liveDeployment ? names.deploymentResource(at, liveDeployment) : '',
          ...(liveTime === null ? {} : { liveTime: toRfc3339(liveTime) }),
          commit,
          ...(running ? { instance: running.state } : {}),
          memoryBytes: awake.environments[id] ?? 0,
          points: visits.get(id) ?? [],
        }
      })
      return { activity, nextPageToken }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/trafficSummaries',
    tag,
    summary: 'List the traffic of the last 24 hours of all environments of an account that had visits',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('trafficSummaries', resources.trafficSummary),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      // A page is one of environments: where some of them had no visits, it has fewer entries.
      const page = toPage(pageRequest(query), `${account.id}/trafficSummaries`)
      const { items, nextPageToken } = await environments.listOfAccount(account.id, page)
      const paths = items.map(({ id, appName }) => ({ account: account.name, app: appName, environment: id }))
      return { trafficSummaries: await traffic.summaries(paths), nextPageToken }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/apps/{app}/environments/{environment}/traffic',
    tag,
    summary: 'Read the traffic of an environment: requests, hits, bytes, status classes and latency',
    access: 'viewer',
    query: schema.object({ range: schema.optional(resources.trafficRange) }),
    reply: resources.traffic,
    problems: ['ENVIRONMENT_NOT_FOUND'],
    async handle(call) {
      const { at } = await environmentOf(environments, call)
      return traffic.read(at, call.query.range ?? '24h')
    },
  }),
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/apps/{app}/environments/{environment}/trafficPaths',
    tag,
    summary: 'Read the most visited paths of an environment, and the most requested missing ones',
    access: 'viewer',
    query: schema.object({ range: schema.optional(resources.trafficRange) }),
    reply: resources.trafficPaths,
    problems: ['ENVIRONMENT_NOT_FOUND'],
    async handle(call) {
      const { at } = await environmentOf(environments, call)
      return traffic.readPaths(at, call.query.range ?? '24h')
    },
  }),
]

import type { Environments } from '../../apps/index.ts'
import { resources, schema } from '../../contract/index.ts'
import type { Traffic } from '../../traffic/index.ts'
import { environmentOf } from '../environment-of.ts'
import { type Route, route } from '../route.ts'

const tag = 'Usage'

type Parts = { environments: Environments; traffic: Traffic }

export const trafficRoutes = ({ environments, traffic }: Parts): Route[] => [
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

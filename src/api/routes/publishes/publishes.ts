import type { Environments } from '../../../apps/index.ts'
import { resources, schema } from '../../../contract/index.ts'
import type { Publishes } from '../../../publishes/index.ts'
import { toPage } from '../../../storage/index.ts'
import { environmentOf } from '../../environment-of.ts'
import { listOf, pageFields, pageRequest, type Route, route } from '../../route.ts'

const ENVIRONMENT = '/v1/accounts/{account}/apps/{app}/environments/{environment}'
const tag = 'Publishes'

type Parts = { environments: Environments; publishes: Publishes }

export const publishRoutes = ({ environments, publishes }: Parts): Route[] => [
  route({
    method: 'GET',
    path: `${ENVIRONMENT}/publishes`,
    tag,
    summary: 'List the publishes of an environment, with when each was called for, built, visible and first visited',
    access: 'viewer',
    query: schema.object({
      ...pageFields,
      kind: schema.optional(schema.oneOf(resources.PUBLISH_KINDS, { description: 'Only those; all unless given.' })),
    }),
    reply: listOf('publishes', resources.publish),
    problems: ['ENVIRONMENT_NOT_FOUND', 'PAGE_TOKEN_INVALID'],
    async handle(call) {
      const { at } = await environmentOf(environments, call)
      const { kind } = call.query
      const page = toPage(pageRequest(call.query), `${at.environment} ${kind ?? ''}`)
      const { items, nextPageToken } = await publishes.list(at, page, kind)
      return { publishes: items, nextPageToken }
    },
  }),
  route({
    method: 'GET',
    path: `${ENVIRONMENT}/publishTimes`,
    tag,
    summary: 'Read how long publishes of an environment take, as percentiles',
    access: 'viewer',
    query: schema.object({ range: schema.optional(resources.publishRange) }),
    reply: resources.publishTimes,
    problems: ['ENVIRONMENT_NOT_FOUND'],
    async handle(call) {
      const { at, path } = await environmentOf(environments, call)
      const environment = await environments.require(path.accountId, path.appName, path.environmentId)
      return publishes.times(at, call.query.range ?? '7d', environment.publishPromiseSeconds)
    },
  }),
]

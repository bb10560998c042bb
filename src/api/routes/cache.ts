import type { Clock } from '../../base/index.ts'
import { resources } from '../../contract/index.ts'
import type { ClearCache } from '../../deployments/index.ts'
import { askedBy } from '../asked.ts'
import { renderOperation } from '../render.ts'
import { type Route, route } from '../route.ts'

const ENVIRONMENT = '/v1/accounts/{account}/apps/{app}/environments/{environment}'

type Parts = { clock: Clock; clearCache: ClearCache }

export const cacheRoutes = ({ clock, clearCache }: Parts): Route[] => [
  route({
    method: 'POST',
    path: `${ENVIRONMENT}:clearCache`,
    tag: 'Cache',
    summary: 'Clear the cache, as a whole or by path and tag; it is cleared when the answer arrives',
    access: 'developer',
    audited: 'PURGE_CACHE',
    body: resources.clearCache,
    bodyIsOptional: true,
    reply: resources.operation,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'PURGE_NOT_CONFIRMED'],
    async handle(call) {
      const { account, body } = call
      const { app, environment } = call.params
      const asked = askedBy(call, 'PURGE_CACHE', clock)
      const at = { account, appName: app, environmentId: environment }
      return renderOperation(account, await clearCache(at, body, [asked]))
    },
  }),
]

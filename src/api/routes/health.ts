import { Problem, schema } from '../../contract/index.ts'
import type { Auth } from '../auth.ts'
import { isFromThisMachine } from '../loopback.ts'
import type { Metrics } from '../metrics.ts'
import { type Route, route } from '../route.ts'

const tag = 'Health'

/** Conditions for this process to serve; each resolves to what is wrong, or to undefined. */
export type ReadyChecks = Record<string, () => Promise<string | undefined>>

export const healthRoutes = ({
  ready,
  metrics,
  auth,
}: {
  ready: ReadyChecks
  metrics: Metrics
  auth: Auth
}): Route[] => [
  route({
    method: 'GET',
    path: '/healthz',
    tag,
    summary: 'The process is alive',
    access: 'public',
    reply: schema.object({ status: schema.string() }),
    handle: () => ({ status: 'alive' }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    tag,
    summary: 'The service can serve',
    access: 'public',
    reply: schema.object({ status: schema.string() }),
    problems: ['NOT_READY'],
    async handle() {
      const faults: Record<string, string> = {}
      for (const [name, check] of Object.entries(ready)) {
        const fault = await check()
        if (fault) faults[name] = fault
      }
      if (Object.keys(faults).length === 0) return { status: 'ready' }
      throw new Problem('NOT_READY', `Not ready: ${Object.keys(faults).join(', ')}.`, {
        metadata: faults,
        retryAfterSeconds: 1,
      })
    },
  }),
  route({
    method: 'GET',
    path: '/metrics',
    tag,
    summary: 'Metrics for Prometheus; needs a credential, or a caller on this machine',
    access: 'public',
    reply: { mediaType: 'text/plain' },
    problems: ['CREDENTIALS_REQUIRED', 'CREDENTIALS_WRONG'],
    async handle({ request, reply }) {
      if (!isFromThisMachine(request) && !(await auth.identify(request))) throw new Problem('CREDENTIALS_REQUIRED')
      reply.type(metrics.contentType)
      return metrics.text()
    },
  }),
]

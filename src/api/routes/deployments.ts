import type { Environments } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import { Problem, resources } from '../../contract/index.ts'
import { type Deployments, type Requests, readCheckReport, runtimeLogName } from '../../deployments/index.ts'
import type { Instances } from '../../runtime/index.ts'
import { type LineLogs, toPage } from '../../storage/index.ts'
import { askedBy } from '../asked.ts'
import type { Auth } from '../auth.ts'
import { environmentOf } from '../environment-of.ts'
import { renderDeployment, renderOperation } from '../render.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'
import { logQuery, sendLog } from '../streams/log-stream.ts'
import type { OpenStreams } from '../streams/open-streams.ts'

const ENVIRONMENT = '/v1/accounts/{account}/apps/{app}/environments/{environment}'
const DEPLOYMENTS = '/v1/accounts/{account}/apps/{app}/environments/{environment}/deployments'
const tag = 'Deployments'

type Parts = {
  environments: Environments
  deployments: Deployments
  instances: Pick<Instances, 'of'>
  requests: Requests
  logs: LineLogs
  auth: Auth
  streams: OpenStreams
  clock: Clock
  stopping: AbortSignal
  checkIsolation(): Promise<void>
}

export function deploymentRoutes({
  environments,
  deployments,
  instances,
  requests,
  logs,
  auth,
  streams,
  clock,
  stopping,
  checkIsolation,
}: Parts): Route[] {
  return [
    route({
      method: 'GET',
      path: DEPLOYMENTS,
      tag,
      summary: 'List the deployments of an environment',
      access: 'viewer',
      query: pageQuery,
      reply: listOf('deployments', resources.deployment),
      problems: ['ENVIRONMENT_NOT_FOUND', 'PAGE_TOKEN_INVALID'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        const { items, nextPageToken } = await deployments.list(path, toPage(pageRequest(call.query)))
        const origins = await deployments.origins(items.map(({ id }) => id))
        const shown = items.flatMap((one) => {
          const origin = origins.get(one.id)
          return origin ? renderDeployment(at, one, origin, instances.of(one.id)) : []
        })
        return { deployments: shown, nextPageToken }
      },
    }),
    route({
      method: 'GET',
      path: `${DEPLOYMENTS}/{deployment}`,
      tag,
      summary: 'Read a deployment',
      access: 'viewer',
      reply: resources.deployment,
      problems: ['ENVIRONMENT_NOT_FOUND', 'DEPLOYMENT_NOT_FOUND'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        const deployment = await deployments.require(path, call.params.deployment)
        const origin = (await deployments.origins([deployment.id])).get(deployment.id)
        if (!origin) throw new Problem('DEPLOYMENT_NOT_FOUND')
        const check = readCheckReport(await deployments.checkTextOf(deployment.id))
        return { ...renderDeployment(at, deployment, origin, instances.of(deployment.id)), ...(check ? { check } : {}) }
      },
    }),
    route({
      method: 'POST',
      path: `${DEPLOYMENTS}/{deployment}:activate`,
      tag,
      summary: 'Make a deployment live again, back or forward, without a build',
      access: 'developer',
      audited: 'ACTIVATE',
      body: resources.empty,
      bodyIsOptional: true,
      reply: resources.operation,
      problems: [
        'ENVIRONMENT_NOT_FOUND',
        'ENVIRONMENT_DELETING',
        'DEPLOYMENT_NOT_FOUND',
        'DEPLOYMENT_NOT_ACTIVATABLE',
        'TOO_MANY_CHANGES',
      ],
      async handle(call) {
        const { account, params, principal } = call
        await checkIsolation()
        const { app, environment, deployment } = params
        const at = { account, appName: app, environmentId: environment }
        const asked = askedBy(call, 'DEPLOY', clock)
        return renderOperation(account, await requests.activate(at, deployment, principal.requester, asked))
      },
    }),
    route({
      method: 'GET',
      path: `${ENVIRONMENT}/logs`,
      tag,
      summary: 'Read the log of the running app, as text or as a stream',
      access: 'viewer',
      query: logQuery,
      reply: { mediaType: 'text/plain' },
      streams: true,
      problems: ['ENVIRONMENT_NOT_FOUND', 'TOO_MANY_STREAMS'],
      async handle(call) {
        const { path } = await environmentOf(environments, call)
        const isOver = async () => false
        return sendLog(call, { logs, name: runtimeLogName(path.environmentId), isOver, auth, streams, stopping })
      },
    }),
  ]
}

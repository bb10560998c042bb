import type { Account } from '../../accounts/index.ts'
import type { Environments } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Build, Builds } from '../../builds/index.ts'
import { resources } from '../../contract/index.ts'
import { buildLogName, type Requests } from '../../deployments/index.ts'
import type { Images } from '../../images/index.ts'
import type { Operations } from '../../operations/index.ts'
import { type LineLogs, toPage } from '../../storage/index.ts'
import { askedBy } from '../asked.ts'
import type { Auth } from '../auth.ts'
import { environmentOf } from '../environment-of.ts'
import { renderBuild, renderOperation } from '../render.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'
import { logQuery, sendLog } from '../streams/log-stream.ts'
import type { OpenStreams } from '../streams/open-streams.ts'

const ENVIRONMENT = '/v1/accounts/{account}/apps/{app}/environments/{environment}'
const BUILDS = '/v1/accounts/{account}/apps/{app}/environments/{environment}/builds'
const tag = 'Builds'

type Parts = {
  environments: Environments
  builds: Builds
  operations: Pick<Operations, 'require' | 'waitingOf'>
  requests: Requests
  logs: LineLogs
  auth: Auth
  streams: OpenStreams
  clock: Clock
  stopping: AbortSignal
  admitBuild(account: Account, environmentId: string): Promise<void>
  /** Undefined where no registry is set. */
  images?: Pick<Images, 'referencesOf'> | undefined
}

export function buildRoutes({
  environments,
  builds,
  operations,
  requests,
  logs,
  auth,
  streams,
  clock,
  stopping,
  admitBuild,
  images,
}: Parts): Route[] {
  /** The references of images, by the digest of their output. */
  const imagesOf = async (found: readonly Build[]): Promise<ReadonlyMap<string, string>> =>
    images?.referencesOf(found.flatMap(({ output }) => output ?? [])) ?? new Map()

  return [
    route({
      method: 'POST',
      path: `${ENVIRONMENT}:rebuild`,
      tag,
      summary: 'Build the newest upload again, or the archive that the environment is pinned to',
      access: 'developer',
      audited: 'REBUILD',
      body: resources.rebuild,
      bodyIsOptional: true,
      reply: resources.operation,
      problems: [
        'ENVIRONMENT_NOT_FOUND',
        'ENVIRONMENT_DELETING',
        'NOTHING_UPLOADED',
        'QUOTA_EXCEEDED',
        'ISOLATION_MISSING',
      ],
      async handle(call) {
        const { account, body } = call
        const { app, environment } = call.params
        await admitBuild(account, environment)
        const isForced = body.force === true
        const asked = { ...askedBy(call, body.clean ? 'CLEAN_REBUILD' : 'REBUILD', clock), isForced }
        const wanted = { asked: [asked], isForced }
        return renderOperation(
          account,
          await requests.rebuild({ account, appName: app, environmentId: environment }, wanted),
        )
      },
    }),
    route({
      method: 'GET',
      path: BUILDS,
      tag,
      summary: 'List the builds of an environment',
      access: 'viewer',
      query: pageQuery,
      reply: listOf('builds', resources.build),
      problems: ['ENVIRONMENT_NOT_FOUND', 'PAGE_TOKEN_INVALID'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        const { items, nextPageToken } = await builds.list(path, toPage(pageRequest(call.query)))
        const references = await imagesOf(items)
        const rendered = items.map((build) => renderBuild(at, build, { image: references.get(build.output ?? '') }))
        return { builds: rendered, nextPageToken }
      },
    }),
    route({
      method: 'GET',
      path: `${BUILDS}/{build}`,
      tag,
      summary: 'Read a build',
      access: 'viewer',
      reply: resources.build,
      problems: ['ENVIRONMENT_NOT_FOUND', 'BUILD_NOT_FOUND'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        const build = await builds.require(path, call.params.build)
        const image = (await imagesOf([build])).get(build.output ?? '')
        if (build.state !== 'QUEUED') return renderBuild(at, build, { image })
        const operation = await operations.require(path, build.operationId)
        return renderBuild(at, build, { image, waiting: await operations.waitingOf(operation) })
      },
    }),
    route({
      method: 'POST',
      path: `${BUILDS}/{build}:cancel`,
      tag,
      summary: 'Cancel a build: its whole process tree is ended',
      access: 'developer',
      audited: 'CANCEL',
      body: resources.empty,
      bodyIsOptional: true,
      reply: resources.empty,
      problems: ['ENVIRONMENT_NOT_FOUND', 'BUILD_NOT_FOUND'],
      async handle(call) {
        const { path } = await environmentOf(environments, call)
        const { operationId } = await builds.require(path, call.params.build)
        await requests.cancel(path, operationId)
        return {}
      },
    }),
    route({
      method: 'GET',
      path: `${BUILDS}/{build}/log`,
      tag,
      summary: 'Read the log of a build, as text or as a stream',
      access: 'viewer',
      query: logQuery,
      reply: { mediaType: 'text/plain' },
      streams: true,
      problems: ['ENVIRONMENT_NOT_FOUND', 'BUILD_NOT_FOUND', 'TOO_MANY_STREAMS'],
      async handle(call) {
        const { path } = await environmentOf(environments, call)
        const { id } = await builds.require(path, call.params.build)
        const isOver = async () => (await builds.require(path, id)).finishTime !== null
        return sendLog(call, { logs, name: buildLogName(id), isOver, auth, streams, stopping })
      },
    }),
  ]
}

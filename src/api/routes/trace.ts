/** Why visitors see what they see at an address. This file chooses what is shown: nothing that could be a secret. */
import type { Environments } from '../../apps/index.ts'
import { toRfc3339 } from '../../base/index.ts'
import { names, resources, schema } from '../../contract/index.ts'
import type { Trace, Traced } from '../../deployments/index.ts'
import { type Route, route } from '../route.ts'

const ENVIRONMENT = '/v1/accounts/{account}/apps/{app}/environments/{environment}'
const MAX_URL_LENGTH = 4096

type Parts = { environments: Environments; trace: Trace; stopping: AbortSignal }

export const traceRoutes = ({ environments, trace, stopping }: Parts): Route[] => [
  route({
    method: 'GET',
    path: `${ENVIRONMENT}:trace`,
    tag: 'Cache',
    summary: 'Show why visitors see what they see at an address: what is stored, what is live, and what led there',
    access: 'viewer',
    query: schema.object({
      url: schema.string({
        minLength: 1,
        maxLength: MAX_URL_LENGTH,
        description: 'A path, as `/news?page=2`, or a whole address at one of the hosts of the environment.',
      }),
    }),
    reply: resources.trace,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING'],
    async handle({ account, params, query }) {
      const environment = await environments.require(account.id, params.app, params.environment)
      const at = { account: account.name, app: environment.appName, environment: environment.id }
      return renderTrace(at, await trace(environment, query.url, stopping))
    },
  }),
]

const RESOURCES = {
  build: names.buildResource,
  deployment: names.deploymentResource,
  operation: names.operationResource,
}

function renderTrace(at: names.EnvironmentPath, traced: Traced): resources.Trace {
  const { url, verdict, live, stored, origin, timeline } = traced
  return {
    url,
    verdict,
    ...(live
      ? {
          deployment: names.deploymentResource(at, live.deployment),
          build: names.buildResource(at, live.build.id),
        }
      : {}),
    stored: stored.map((one) => renderStored(at, one)),
    origin: renderOrigin(origin),
    timeline: timeline.map(({ time, what, detail, about }) => ({
      time: toRfc3339(time),
      what,
      detail,
      ...(about ? { resource: RESOURCES[about.kind](at, about.id) } : {}),
    })),
  }
}

const renderStored = (at: names.EnvironmentPath, stored: Traced['stored'][number]) => ({
  status: stored.status,
  storeTime: toRfc3339(stored.storeTime),
  validateTime: toRfc3339(stored.validateTime),
  ageSeconds: stored.ageSeconds,
  lifetimeSeconds: stored.lifetimeSeconds,
  lifetimeFrom: stored.lifetimeFrom,
  fresh: stored.isFresh,
  deployment: names.deploymentResource(at, stored.deployment),
  bytes: stored.bytes,
  tags: [...stored.tags],
  variant: Object.fromEntries(
    Object.entries(stored.variant).map(([header, value]) => [header, isHarmless(header) ? value : '(hidden)']),
  ),
  ...(stored.etag === null ? {} : { etag: stored.etag }),
  ...(stored.lastModified === null ? {} : { lastModified: stored.lastModified }),
  hits: stored.hits,
  place: stored.place,
  comparison: stored.comparison,
})

/**
 * Headers of a visitor may be secret: a cookie, a token. Only headers that are known to be harmless are shown. Several
 * headers may be named together.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'origin',
  'rsc',
  'next-router-prefetch',
  'next-router-segment-prefetch',
  'next-router-state-tree',
  'save-data',
  'sec-ch-ua-mobile',
  'x-forwarded-proto',
])

const isHarmless = (headers: string): boolean =>
  headers.split(',').every((name) => HARMLESS.has(name.trim().toLowerCase()))

function renderOrigin(origin: Traced['origin']): resources.Trace['origin'] {
  const common = { kind: origin.kind, detail: origin.detail }
  switch (origin.kind) {
    case 'NOTHING':
    case 'SILENT':
      return common
    case 'FILE':
      return { ...common, status: origin.status, file: origin.file, bytes: origin.bytes, digest: origin.digest }
    case 'REDIRECT':
      return { ...common, status: origin.status, location: origin.location }
    case 'MISSING':
      return { ...common, status: origin.status }
    case 'APP': {
      const { status, contentType, cacheControl, vary, etag, lastModified, setsCookie, body } = origin
      const given = { contentType, cacheControl, vary, etag, lastModified, bytes: body?.bytes, digest: body?.digest }
      const known = Object.entries(given).filter(([, value]) => value !== undefined)
      return { ...common, status, setsCookie, ...Object.fromEntries(known) }
    }
  }
}

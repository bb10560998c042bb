import type { Account } from '../../accounts/index.ts'
import type { Apps, Domains, Environment, Environments, Variables } from '../../apps/index.ts'
import { type Builds, freshnessOf, type Sources } from '../../builds/index.ts'
import { fieldInvalid, resources, schema } from '../../contract/index.ts'
import {
  CHANGEABLE,
  type Changeable,
  type Deployments,
  describeEnvironment,
  type Pins,
  type Requests,
  type Retries,
  type SiteUrl,
} from '../../deployments/index.ts'
import type { Operations } from '../../operations/index.ts'
import { toPage } from '../../storage/index.ts'
import { checkRole } from '../auth.ts'
import { preconditionsOf } from '../preconditions.ts'
import { renderOperation } from '../render.ts'
import { listOf, pageAndViewQuery, pageQuery, pageRequest, type Route, route, viewQuery } from '../route.ts'

const ENVIRONMENTS = '/v1/accounts/{account}/apps/{app}/environments'
const tag = 'Environments'

type Parts = {
  apps: Apps
  environments: Environments
  domains: Domains
  variables: Variables
  operations: Operations
  builds: Builds
  sources: Pick<Sources, 'pinsOf'>
  pins: Pick<Pins, 'unpin'>
  deployments: Deployments
  requests: Requests
  retries: Retries
  siteUrl: SiteUrl
}

/** What it takes to show an environment. */
export type ShowParts = Pick<
  Parts,
  'domains' | 'variables' | 'operations' | 'builds' | 'sources' | 'deployments' | 'retries' | 'siteUrl'
>

export const environmentRoutes = (parts: Parts): Route[] => [...collectionRoutes(parts), ...itemRoutes(parts)]

/** Routes of all environments of an app or an account. */
function collectionRoutes(parts: Parts): Route[] {
  const { apps, environments, requests } = parts
  return [
    route({
      method: 'POST',
      path: ENVIRONMENTS,
      tag,
      summary: 'Create an environment',
      access: 'developer',
      audited: 'CREATE_ENVIRONMENT',
      body: resources.newEnvironment,
      reply: resources.operation,
      problems: ['APP_NOT_FOUND', 'VARIABLE_RESERVED', 'ACCOUNT_LIMIT', 'TOO_MANY_CHANGES', 'PASSWORDS_BUSY'],
      async handle({ account, params, body, principal: { requester } }) {
        return renderOperation(account, await requests.createEnvironment(account, params.app, body, requester))
      },
    }),
    route({
      method: 'GET',
      path: ENVIRONMENTS,
      tag,
      summary: 'List the environments of an app',
      access: 'viewer',
      query: pageAndViewQuery,
      reply: listOf('environments', resources.environment),
      problems: ['APP_NOT_FOUND', 'PAGE_TOKEN_INVALID', 'ROLE_TOO_WEAK'],
      async handle({ account, role, params, query }) {
        const { view = 'BASIC' } = query
        if (view === 'FULL') checkRole(role, 'developer')
        const app = await apps.require(account.id, params.app)
        const { items, nextPageToken } = await environments.list(app.id, toPage(pageRequest(query)))
        return { environments: await showEnvironments(parts, account, items, view), nextPageToken }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/accounts/{account}/apps/-/environments',
      tag,
      summary: 'List the environments of all apps of an account',
      access: 'viewer',
      query: pageQuery,
      reply: listOf('environments', resources.environment),
      problems: ['PAGE_TOKEN_INVALID'],
      async handle({ account, query }) {
        const page = toPage(pageRequest(query), `${account.id}/apps/-/environments`)
        const { items, nextPageToken } = await environments.listOfAccount(account.id, page)
        return { environments: await showEnvironments(parts, account, items, 'BASIC'), nextPageToken }
      },
    }),
  ]
}

/** Routes of one environment. */
function itemRoutes(parts: Parts): Route[] {
  const { environments, pins, requests } = parts
  return [
    route({
      method: 'GET',
      path: `${ENVIRONMENTS}/{environment}`,
      tag,
      summary: 'Read an environment',
      access: 'viewer',
      query: schema.object(viewQuery),
      reply: resources.environment,
      problems: ['ENVIRONMENT_NOT_FOUND', 'ROLE_TOO_WEAK'],
      async handle({ account, role, params, query }) {
        const { view = 'BASIC' } = query
        if (view === 'FULL') checkRole(role, 'developer')
        const found = await environments.requireWhole(account.id, params.app, params.environment)
        const [shown] = await showEnvironments(parts, account, [found], view)
        const freshness = await freshnessOfLive(parts, found)
        return shown && { ...shown, ...(freshness ? { freshness } : {}) }
      },
    }),
    route({
      method: 'PATCH',
      path: `${ENVIRONMENTS}/{environment}`,
      tag,
      summary: 'Change an environment',
      access: 'developer',
      audited: 'CHANGE_ENVIRONMENT',
      query: schema.object({
        updateMask: schema.optional(
          schema.string({
            maxLength: 200,
            description: `The fields to set, with commas between them: ${CHANGEABLE.join(', ')}. All that are given, if absent.`,
          }),
        ),
      }),
      body: resources.changedEnvironment,
      takesEtag: true,
      reply: resources.operation,
      problems: [
        'ENVIRONMENT_NOT_FOUND',
        'ENVIRONMENT_DELETING',
        'VARIABLE_RESERVED',
        'TOO_MANY_CHANGES',
        'PASSWORDS_BUSY',
      ],
      async handle({ account, params: { app, environment }, query, body, request, principal: { requester } }) {
        const mask = parseMask(query.updateMask, body)
        const preconditions = preconditionsOf(request, body)
        const at = { account, appName: app, environmentId: environment }
        const change = { given: body, mask, preconditions, requestedBy: requester }
        const asked = await requests.updateEnvironment(at, change)
        return renderOperation(account, asked)
      },
    }),
    route({
      method: 'POST',
      path: `${ENVIRONMENTS}/{environment}:unpin`,
      tag,
      summary: 'End the pin of an environment: the next rebuild builds the newest upload',
      access: 'developer',
      audited: 'UNPIN',
      body: resources.empty,
      bodyIsOptional: true,
      reply: resources.environment,
      problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING'],
      async handle({ account, params: { app, environment } }) {
        await pins.unpin({ account, appName: app, environmentId: environment })
        const found = await environments.requireWhole(account.id, app, environment)
        return (await showEnvironments(parts, account, [found], 'BASIC'))[0]
      },
    }),
    route({
      method: 'DELETE',
      path: `${ENVIRONMENTS}/{environment}`,
      tag,
      summary: 'Delete an environment',
      access: 'developer',
      audited: 'DELETE_ENVIRONMENT',
      body: resources.deletion,
      bodyIsOptional: true,
      takesEtag: true,
      reply: resources.operation,
      problems: ['ENVIRONMENT_NOT_FOUND'],
      async handle({ account, params: { app, environment }, body, request, principal: { requester } }) {
        const preconditions = preconditionsOf(request, body)
        const at = { account, appName: app, environmentId: environment }
        const asked = await requests.deleteEnvironment(at, { preconditions, requestedBy: requester })
        return renderOperation(account, asked)
      },
    }),
  ]
}

function parseMask(updateMask: string | undefined, { etag: _, ...body }: resources.ChangedEnvironment): Changeable[] {
  const given = updateMask === undefined ? Object.keys(body) : updateMask.split(',').map((field) => field.trim())
  if (given.length === 0) throw fieldInvalid('updateMask', 'names no field, and the body has none')
  const unknown = given.find((field) => !CHANGEABLE.includes(field as Changeable))
  if (unknown !== undefined) throw fieldInvalid('updateMask', `may only name ${CHANGEABLE.join(', ')}`)
  return given as Changeable[]
}

/** Environments as callers see them, with one query for each kind of record that goes with them. */
export async function showEnvironments(
  parts: ShowParts,
  account: Account,
  found: Environment[],
  view: 'BASIC' | 'FULL',
) {
  const { domains, variables, operations, builds, sources, deployments, retries, siteUrl } = parts
  const ids = found.map(({ id }) => id)
  const reconciling = await operations.reconciling(ids)
  const names = await domains.of(ids)
  const latestOperations = await operations.latestOf(ids)
  const latestBuilds = await builds.latestOf(ids)
  const pinned = await sources.pinsOf(ids)
  const held = await deployments.heldOf(ids)
  const waiting = await retries.of(ids)
  const liveBuilds = await deployments.buildsOf(found.flatMap(({ liveDeployment }) => liveDeployment ?? []))
  return found.map((environment) =>
    describeEnvironment(
      {
        environment,
        accountName: account.name,
        domains: names.get(environment.id) ?? [],
        isReconciling: reconciling.has(environment.id),
        liveBuild: liveBuilds.get(environment.liveDeployment ?? ''),
        pin: pinned.get(environment.id),
        latestOperation: latestOperations.get(environment.id),
        latestBuild: latestBuilds.get(environment.id),
        held: held.get(environment.id),
        retry: waiting.get(environment.id),
        shellVariables: variables.shown(environment.id, environment.variables, view),
      },
      siteUrl,
    ),
  )
}

async function freshnessOfLive(
  { deployments, builds, variables }: Parts,
  { id, accountId, liveDeployment }: Environment,
) {
  const live = liveDeployment ? await deployments.whole(liveDeployment) : undefined
  if (!live) return undefined
  const { plan } = await builds.require({ accountId, environmentId: id }, live.buildId)
  const own = variables.open(id, live.variables).map(({ key, value }) => [key, value])
  return plan ? freshnessOf(plan, Object.fromEntries(own)) : undefined
}

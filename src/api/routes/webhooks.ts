import type { Environments } from '../../apps/index.ts'
import { toRfc3339 } from '../../base/index.ts'
import type { Builds, Built } from '../../builds/index.ts'
import { fieldInvalid, names, PROBLEMS, Problem, type Reason, resources, schema } from '../../contract/index.ts'
import type { SiteUrl } from '../../deployments/index.ts'
import type { Operation } from '../../operations/index.ts'
import { toPage } from '../../storage/index.ts'
import type { Ledger, LedgerEntry } from '../../triggers/index.ts'
import type { Accepted, IssuedSet, WebhookSet, WebhookSets, Webhooks } from '../../webhooks/index.ts'
import { environmentOf } from '../environment-of.ts'
import { renderForToken } from '../render.ts'
import { listOf, pageFields, pageRequest, type Route, route } from '../route.ts'
import { mayNameContent, readWebhookUrl } from '../webhook-url.ts'

const ENVIRONMENT = '/v1/accounts/{account}/apps/{app}/environments/{environment}'
const WEBHOOKS = '/v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks'
const tag = 'Webhooks'

type Parts = {
  environments: Environments
  webhookSets: WebhookSets
  webhooks: Webhooks
  ledger: Ledger
  builds: Pick<Builds, 'builtBy'>
  siteUrl: SiteUrl
  publicUrl(): string
}

export function webhookRoutes(parts: Parts): Route[] {
  const { environments, webhookSets, webhooks, ledger, builds, siteUrl, publicUrl } = parts

  async function show(at: names.EnvironmentPath, set: WebhookSet): Promise<resources.WebhookSet> {
    const lastUses = await ledger.lastUses(set.environmentId, set.regenerateTime)
    return renderSet(at, set, (action) => {
      const time = lastUses.get(resources.ACTION_OF_WEBHOOK[action])
      return time === undefined ? {} : { lastUseTime: toRfc3339(time) }
    })
  }

  const issue = (at: names.EnvironmentPath, set: IssuedSet): resources.IssuedWebhookSet =>
    renderSet(at, set, (action) => ({
      url: `${publicUrl()}/wh/v1/${names.webhooksResource(at)}/webhook:${action}?token=${set.tokens[action].reveal()}`,
    }))

  return [
    route({
      method: 'POST',
      path: WEBHOOKS,
      tag,
      summary: 'Create the webhooks of an environment; their URLs are in this answer only',
      access: 'developer',
      audited: 'CREATE_WEBHOOKS',
      body: resources.empty,
      bodyIsOptional: true,
      reply: resources.issuedWebhookSet,
      problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'WEBHOOKS_EXIST'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        return issue(at, await webhookSets.create(path.environmentId))
      },
    }),
    route({
      method: 'GET',
      path: WEBHOOKS,
      tag,
      summary: 'Show the webhooks of an environment, without their URLs',
      access: 'viewer',
      reply: resources.webhookSet,
      problems: ['ENVIRONMENT_NOT_FOUND', 'WEBHOOKS_NOT_FOUND'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        return show(at, await webhookSets.require(path.environmentId))
      },
    }),
    route({
      method: 'PATCH',
      path: WEBHOOKS,
      tag,
      summary: 'Change how long a build lets calls of webhooks settle',
      access: 'developer',
      audited: 'CHANGE_WEBHOOKS',
      body: resources.changedWebhookSet,
      reply: resources.webhookSet,
      problems: ['ENVIRONMENT_NOT_FOUND', 'WEBHOOKS_NOT_FOUND'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        return show(at, await webhookSets.change(path.environmentId, changeIn(call.body)))
      },
    }),
    route({
      method: 'POST',
      path: `${WEBHOOKS}:regenerate`,
      tag,
      summary: 'Make new URLs for all webhooks of an environment; the old ones stop at once',
      access: 'developer',
      audited: 'REGENERATE_WEBHOOKS',
      body: resources.empty,
      bodyIsOptional: true,
      reply: resources.issuedWebhookSet,
      problems: ['ENVIRONMENT_NOT_FOUND', 'WEBHOOKS_NOT_FOUND'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        return issue(at, await webhookSets.regenerate(path.environmentId))
      },
    }),
    route({
      method: 'DELETE',
      path: WEBHOOKS,
      tag,
      summary: 'Delete all webhooks of an environment; their URLs stop at once',
      access: 'developer',
      audited: 'DELETE_WEBHOOKS',
      reply: resources.empty,
      problems: ['ENVIRONMENT_NOT_FOUND', 'WEBHOOKS_NOT_FOUND'],
      async handle(call) {
        const { path } = await environmentOf(environments, call)
        await webhookSets.remove(path.environmentId)
        return {}
      },
    }),
    route({
      method: 'GET',
      path: `${ENVIRONMENT}/triggers`,
      tag,
      summary: 'List who requested builds and purges of an environment, and the results',
      access: 'viewer',
      query: triggersQuery,
      reply: listOf('triggers', resources.recordedTrigger),
      problems: ['ENVIRONMENT_NOT_FOUND', 'PAGE_TOKEN_INVALID'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        const { operation, source } = call.query
        const page = toPage(pageRequest(call.query), `${path.environmentId} ${operation ?? ''} ${source ?? ''}`)
        const filter = { ...(operation ? { operationId: operation } : {}), ...(source ? { source } : {}) }
        const { items, nextPageToken } = await ledger.list(path.environmentId, page, filter)
        const built = await builds.builtBy(items.flatMap(({ operationId }) => operationId ?? []))
        const builtOf = ({ operationId = '' }: LedgerEntry) => built.get(operationId)
        return { triggers: items.map((entry) => renderTrigger(at, entry, builtOf(entry))), nextPageToken }
      },
    }),
    route({
      method: 'POST',
      path: '/wh/v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks/webhook:{action}',
      tag,
      summary: 'Call a webhook: the answer comes before any work, with the operation that satisfies the call',
      access: 'public',
      query: schema.object({ token: schema.string({ description: 'The secret token of the URL.' }) }),
      takesAnything: '/wh/*',
      mayReadBody: mayNameContent,
      reply: resources.webhookAnswer,
      problems: [
        'WEBHOOK_REFUSED',
        'NOTHING_UPLOADED',
        'QUOTA_EXCEEDED',
        'ISOLATION_MISSING',
        'PURGE_NOT_CONFIRMED',
        'TOO_MANY_TRIGGERS',
        'TOO_MANY_GUESSES',
      ],
      async handle({ request, readBody }) {
        const called = readWebhookUrl(request.url)
        if (!called) throw new Problem('ROUTE_NOT_FOUND')
        const userAgent = request.headers['user-agent'] ?? ''
        return answerOf(
          await webhooks.call({ ...called, address: request.ip, userAgent, ...(readBody ? { readBody } : {}) }),
        )
      },
    }),
    route({
      method: 'GET',
      path: '/wh/v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks/webhook:{action}/operations/{operation}',
      tag,
      summary: "Read the result of a webhook's call, with the token of that webhook",
      access: 'public',
      query: schema.object({ token: schema.string({ maxLength: 200, description: 'The secret token of the URL.' }) }),
      reply: resources.webhookOperation,
      problems: ['WEBHOOK_REFUSED', 'OPERATION_NOT_FOUND', 'TOO_MANY_TRIGGERS', 'TOO_MANY_GUESSES'],
      async handle({ params, query, request }) {
        const { account, app, environment, operation } = params
        const { action } = params as typeof params & { action: string }
        const at = { account, app, environment }
        const read = await webhooks.read({ at, action, token: query.token, address: request.ip, operation })
        const { hostLabel } = await environments.require(read.account.id, read.operation.appName, environment)
        return renderRead(read, { portal: publicUrl(), site: hostLabel === null ? '' : siteUrl(hostLabel) })
      },
    }),
  ]
}

const triggersQuery = schema.object({
  ...pageFields,
  operation: schema.optional({ ...names.operationId, description: 'Only triggers that this operation satisfied.' }),
  source: schema.optional(schema.oneOf(resources.TRIGGER_SOURCES, { description: 'Only triggers of this source.' })),
})

/** Takes the former name of `maxQuietSeconds`, too. */
function changeIn({ quietSecondsMost, ...change }: resources.ChangedWebhookSet): resources.ChangedWebhookSet {
  if (quietSecondsMost === undefined) return change
  const { maxQuietSeconds = quietSecondsMost } = change
  if (maxQuietSeconds !== quietSecondsMost) {
    throw fieldInvalid('quietSecondsMost', 'is the former name of maxQuietSeconds, and must not differ from it')
  }
  return { ...change, maxQuietSeconds }
}

const renderSet = <More extends object>(
  at: names.EnvironmentPath,
  { quietSeconds, maxQuietSeconds, createTime, regenerateTime }: WebhookSet,
  more: (action: resources.WebhookAction) => More,
) => ({
  name: names.webhooksResource(at),
  webhooks: resources.WEBHOOK_ACTIONS.map((action) => ({ action, ...more(action) })),
  quietSeconds,
  maxQuietSeconds,
  quietSecondsMost: maxQuietSeconds,
  createTime: toRfc3339(createTime),
  regenerateTime: toRfc3339(regenerateTime),
})

const renderTrigger = (
  at: names.EnvironmentPath,
  entry: LedgerEntry,
  built: Built | undefined,
): resources.RecordedTrigger => ({
  name: names.triggerResource(at, entry.id),
  action: entry.action,
  source: entry.source,
  requestedBy: entry.requestedBy,
  createTime: toRfc3339(entry.time),
  address: entry.address,
  userAgent: entry.userAgent,
  answer: entry.answer,
  ...(entry.reason === undefined ? {} : { reason: entry.reason }),
  operation: entry.operationId === undefined ? '' : names.operationResource(at, entry.operationId),
  commit: built?.commit ?? null,
  ...(entry.isForced ? { forced: true } : {}),
  ...(built?.snapshotTime === undefined ? {} : { fromSnapshot: toRfc3339(built.snapshotTime) }),
  ...(entry.purged ? { purged: renderPurged(entry.purged) } : {}),
})

const renderPurged = ({ what: { paths, tags, content }, count }: NonNullable<LedgerEntry['purged']>) => ({
  ...(paths ? { paths: [...paths] } : {}),
  ...(tags ? { tags: [...tags] } : {}),
  ...(content ? { content: [...content] } : {}),
  count,
})

/** Calls that were taken together have one answer, which is written out once. */
const answers = new WeakMap<Accepted, string>()

function answerOf(taken: Accepted): string {
  let answer = answers.get(taken)
  if (answer === undefined) {
    answer = JSON.stringify(renderTaken(taken))
    answers.set(taken, answer)
  }
  return answer
}

function renderTaken({ account, operation }: Accepted): resources.WebhookAnswer {
  const isDone = operation.doneTime !== null
  return {
    ...renderForToken(account, operation),
    ...(isDone && !operation.error ? { response: {} } : {}),
    job: { id: operation.id, state: isDone ? 'DONE' : 'PENDING', createdAt: operation.createTime },
  }
}

/** Nothing of what the build wrote: the words of a failure are those of the table of reasons. */
function renderRead(
  { account, operation }: Accepted,
  urls: { portal: string; site: string },
): resources.WebhookOperation {
  const at = { account: account.name, app: operation.appName, environment: operation.environmentId }
  const { id, phase, notBefore, doneTime, build, createTime } = operation
  const state = stateOf(operation)
  const reason = state === 'FAILED' ? reasonOf(operation) : undefined
  return {
    name: names.operationResource(at, id),
    state,
    phase,
    done: doneTime !== null,
    ...(state === 'WAITING' && notBefore !== null ? { waitingUntil: toRfc3339(notBefore) } : {}),
    ...(reason ? { reason, message: PROBLEMS[reason].meaning } : {}),
    buildUrl: build === names.NO_BUILD ? '' : portalPage(urls.portal, names.buildResource(at, build)),
    siteUrl: urls.site,
    createTime: toRfc3339(createTime),
  }
}

function stateOf(operation: Operation): resources.WebhookOperationState {
  if (operation.doneTime === null) return operation.phase === 'QUEUED' ? 'WAITING' : 'BUILDING'
  if (operation.error === null) return operation.trigger === 'PURGE_CACHE' ? 'PURGED' : 'LIVE'
  return CALLED_OFF.has(reasonOf(operation)) ? 'CANCELLED' : 'FAILED'
}

const CALLED_OFF: ReadonlySet<Reason> = new Set<Reason>(['OPERATION_CANCELLED', 'SUPERSEDED'])

/** The first detail of an error is its ErrorInfo. A reason of an earlier version may no longer be in the table. */
function reasonOf({ error }: Operation): Reason {
  const reason = String((error?.details[0] as { reason?: unknown } | undefined)?.reason ?? '')
  return Object.hasOwn(PROBLEMS, reason) ? (reason as Reason) : 'INTERNAL'
}

/** The page of a resource in the portal is its name without `accounts/`. */
const portalPage = (portal: string, name: string): string => `${portal}/${name.slice('accounts/'.length)}`

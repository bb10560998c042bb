import { LIMITS, resources, schema } from '../../contract/index.ts'
import type { Requests } from '../../deployments/index.ts'
import type { Operations } from '../../operations/index.ts'
import { toPage } from '../../storage/index.ts'
import type { Ledger } from '../../triggers/index.ts'
import { renderOperation } from '../render.ts'
import { listOf, pageQuery, pageRequest, type Route, type RouteCall, route } from '../route.ts'

const OPERATIONS = '/v1/accounts/{account}/apps/{app}/environments/{environment}/operations'
const tag = 'Operations'

const pathOf = ({ account, params }: Pick<RouteCall<unknown, unknown>, 'account' | 'params'>) => ({
  accountId: account.id,
  appName: params.app,
  environmentId: params.environment,
})

/** The ledger is asked only for operations that can be in it: builds and purges. */
const HAS_TRIGGERS: ReadonlySet<resources.Trigger> = new Set(['UPLOAD', 'REBUILD', 'CLEAN_REBUILD', 'PURGE_CACHE'])
const NO_TRIGGERS = { ids: [], count: 0 }

type Parts = { operations: Operations; requests: Pick<Requests, 'cancel'>; ledger: Ledger; stopping: AbortSignal }

export const operationRoutes = ({ operations, requests, ledger, stopping }: Parts): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/runningOperations',
    tag,
    summary: 'List the operations of all environments of an account that run or wait',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('operations', resources.operation),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      const page = toPage(pageRequest(query), `${account.id}/runningOperations`)
      const { items, nextPageToken } = await operations.running(account.id, page)
      return { operations: items.map((operation) => renderOperation(account, operation)), nextPageToken }
    },
  }),
  route({
    method: 'GET',
    path: OPERATIONS,
    tag,
    summary: 'List the operations of an environment',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('operations', resources.operation),
    problems: ['ENVIRONMENT_NOT_FOUND', 'PAGE_TOKEN_INVALID'],
    async handle(call) {
      const { items, nextPageToken } = await operations.list(pathOf(call), toPage(pageRequest(call.query)))
      return { operations: items.map((operation) => renderOperation(call.account, operation)), nextPageToken }
    },
  }),
  route({
    method: 'GET',
    path: `${OPERATIONS}/{operation}`,
    tag,
    summary: 'Read an operation',
    access: 'viewer',
    reply: resources.operation,
    problems: ['OPERATION_NOT_FOUND'],
    async handle(call) {
      const operation = await operations.require(pathOf(call), call.params.operation)
      const [queuePosition, waiting, triggers] = await Promise.all([
        operations.queuePosition(operation),
        operations.waitingOf(operation),
        HAS_TRIGGERS.has(operation.trigger) ? ledger.satisfiedBy(operation.id) : NO_TRIGGERS,
      ])
      return renderOperation(call.account, operation, { queuePosition, waiting, triggers })
    },
  }),
  route({
    method: 'POST',
    path: `${OPERATIONS}/{operation}:wait`,
    tag,
    summary: 'Wait for an operation to be done, or for the time to be over',
    access: 'viewer',
    query: schema.object({
      timeout: schema.optional(
        schema.string({
          pattern: '^\\d{1,6}(\\.\\d{1,9})?s$',
          'x-form': 'must be a number of seconds with an s, such as 30s',
          description: `Seconds with an s, as in 30s, which is the default; more than ${LIMITS.maxWaitSeconds}s counts as that.`,
        }),
      ),
    }),
    body: resources.empty,
    bodyIsOptional: true,
    reply: resources.operation,
    problems: ['OPERATION_NOT_FOUND'],
    async handle(call) {
      const { timeout = `${LIMITS.waitSecondsDefault}s` } = call.query
      const seconds = Math.min(Number.parseFloat(timeout), LIMITS.maxWaitSeconds)
      const gone = new AbortController()
      call.reply.raw.once('close', () => gone.abort())
      const signal = AbortSignal.any([gone.signal, stopping])
      const operation = await operations.wait(pathOf(call), call.params.operation, seconds * 1000, signal)
      return renderOperation(call.account, operation, {
        queuePosition: await operations.queuePosition(operation),
        waiting: await operations.waitingOf(operation),
      })
    },
  }),
  route({
    method: 'POST',
    path: `${OPERATIONS}/{operation}:cancel`,
    tag,
    summary: 'Ask an operation to end early',
    access: 'developer',
    audited: 'CANCEL',
    body: resources.empty,
    bodyIsOptional: true,
    reply: resources.empty,
    problems: ['OPERATION_NOT_FOUND'],
    async handle(call) {
      await requests.cancel(pathOf(call), call.params.operation)
      return {}
    },
  }),
]

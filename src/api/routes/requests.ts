/** The log of requests to an environment: as a list, or, for clients that accept `text/event-stream`, as a stream. */
import { Readable } from 'node:stream'
import type { Environments } from '../../apps/index.ts'
import { toRfc3339 } from '../../base/index.ts'
import { LIMITS, Problem, resources, schema } from '../../contract/index.ts'
import type { RequestLog } from '../../request-log/index.ts'
import type { Auth } from '../auth.ts'
import { environmentOf } from '../environment-of.ts'
import { pageFields, type Route, route } from '../route.ts'
import { lastEventIdOf, wantsStream, withKeepAlive } from '../streams/log-stream.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import { untilOver } from '../streams/stream.ts'

type Parts = {
  environments: Environments
  /** Undefined where requests are not recorded. */
  requestLog: RequestLog | undefined
  auth: Auth
  streams: OpenStreams
  stopping: AbortSignal
}

const { pageSize, pageToken } = pageFields

const query = schema.object({
  pageSize,
  pageToken,
  status: schema.optional(resources.requestStatus),
  path: schema.optional(resources.requestPath),
  id: schema.optional(schema.string({ maxLength: 64, description: 'The request id that a visitor was shown.' })),
  offset: schema.optional(
    schema.integer({
      minimum: 0,
      description: 'Of a stream: the number of the request after which it begins; `Last-Event-ID` is stronger.',
    }),
  ),
})

export const requestRoutes = ({ environments, requestLog, auth, streams, stopping }: Parts): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/apps/{app}/environments/{environment}/requests',
    tag: 'Usage',
    summary: 'List the last requests of visitors, or follow them as a stream of events',
    access: 'viewer',
    query,
    reply: resources.requestRecords,
    streams: true,
    problems: ['ENVIRONMENT_NOT_FOUND', 'PAGE_TOKEN_INVALID', 'TOO_MANY_STREAMS'],
    async handle(call) {
      const { path } = await environmentOf(environments, call)
      const { status, path: pattern, id, pageSize, pageToken, offset = 0 } = call.query
      const filter = { status, path: pattern, id }
      // Also for a list: it may read the whole log.
      streams.enter(call, 'logs')
      if (!wantsStream(call.request)) {
        const before = pageToken ? decode(pageToken) : undefined
        if (!requestLog) return { requests: [], isRecorded: false, nextPageToken: '' }
        const size = Math.min(pageSize || LIMITS.pageSizeDefault, LIMITS.maxPageSize)
        const { requests, isMore } = await requestLog.list(path.environmentId, filter, { before, size })
        const last = requests.at(-1)
        return {
          requests: requests.map(render),
          isRecorded: true,
          nextPageToken: isMore && last ? encode(last.number) : '',
        }
      }
      const signal = untilOver(call, { auth, access: 'viewer', stopping })
      const after = lastEventIdOf(call.request) ?? offset
      const lines = requestLog?.follow(path.environmentId, filter, { after, signal }) ?? nothing(signal)
      call.reply.type('text/event-stream; charset=utf-8').header('cache-control', 'no-store')
      return Readable.from(withKeepAlive(lines, toEvent, signal), { objectMode: false })
    },
  }),
]

type Recorded = Awaited<ReturnType<RequestLog['list']>>['requests'][number]

const render = ({ time, parameters = [], client = '', omitted = 0, ...others }: Recorded): resources.RequestRecord =>
  ({ ...others, time: toRfc3339(time), parameters, client, omitted }) as resources.RequestRecord

const toEvent = (request: Recorded): string =>
  `id: ${request.number}\nevent: request\ndata: ${JSON.stringify(render(request))}\n\n`

/** Where nothing is recorded, the stream is open and silent. */
async function* nothing(signal: AbortSignal): AsyncGenerator<never> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

const encode = (number: number): string => Buffer.from(`before ${number}`).toString('base64url')

function decode(token: string): number {
  const [, number] = /^before (\d{1,15})$/.exec(Buffer.from(token, 'base64url').toString('utf8')) ?? []
  if (number !== undefined) return Number(number)
  const fields = [{ field: 'pageToken', description: 'must be the nextPageToken of this list' }]
  throw new Problem('PAGE_TOKEN_INVALID', undefined, { fields })
}

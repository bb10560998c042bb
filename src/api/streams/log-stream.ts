/**
 * A log in two forms: as text from a given line, or, for clients that accept `text/event-stream`, the lines so far and
 * then each line as it is written. The id of an event is the number of its line, so a client resumes where its
 * connection broke.
 */
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { Problem, schema } from '../../contract/index.ts'
import { type LineLogs, type LogLine, StorageUnavailable } from '../../storage/index.ts'
import type { Auth } from '../auth.ts'
import type { RouteCall } from '../route.ts'
import type { OpenStreams } from './open-streams.ts'
import { untilOver } from './stream.ts'

export const logQuery = schema.object({
  offset: schema.optional(
    schema.integer({
      minimum: 0,
      description: 'How many lines to skip from the start; `X-Next-Offset` is the value for the next request.',
    }),
  ),
})

type Source = {
  logs: LineLogs
  name: string
  isOver(): Promise<boolean>
  auth: Auth
  streams: OpenStreams
  stopping: AbortSignal
}

/** A comment from time to time keeps proxies from closing a quiet connection, and detects that the client is gone. */
const KEEP_ALIVE_MS = 15_000

export async function sendLog(
  call: RouteCall<schema.Static<typeof logQuery>, unknown>,
  { logs, name, isOver, auth, streams, stopping }: Source,
) {
  const { query, request, reply } = call
  // Also for text: a slow reader holds a file open.
  streams.enter(call, 'logs')
  const after = lastEventIdOf(request) ?? query.offset ?? 0
  // Before the answer begins, which cannot become an error then.
  await logs.fetch(name, wantsStream(request) ? after : (query.offset ?? 0)).catch(explainAway)
  if (!wantsStream(request)) {
    const offset = query.offset ?? 0
    const last = await logs.lastNumber(name)
    reply.type('text/plain; charset=utf-8')
    reply.header('x-next-offset', Math.max(last, offset))
    return Readable.from(asText(logs.pieces(name, offset), last), { objectMode: false })
  }
  const signal = untilOver(call, { auth, access: 'viewer', stopping })
  reply.type('text/event-stream; charset=utf-8')
  reply.header('cache-control', 'no-store')
  return Readable.from(withKeepAlive(logs.follow(name, after, isOver, signal), toEvent, signal), { objectMode: false })
}

function explainAway(error: unknown): never {
  if (!(error instanceof StorageUnavailable)) throw error
  throw new Problem('STORAGE_UNAVAILABLE', LOG_AWAY, { cause: error, retryAfterSeconds: RETRY_SECONDS })
}

const LOG_AWAY = 'This log is in the object store, which does not answer now. Read it again in a minute.'
const RETRY_SECONDS = 5

export const wantsStream = ({ headers }: FastifyRequest): boolean =>
  String(headers.accept).includes('text/event-stream')

/** Where a client whose connection broke resumes; undefined for a new one. */
export function lastEventIdOf({ headers }: FastifyRequest): number | undefined {
  const id = Number(headers['last-event-id'] ?? 0)
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

/** Stops at the last line that was announced to the caller, who would get later ones twice. */
async function* asText(pieces: AsyncGenerator<LogLine[]>, last: number): AsyncGenerator<string> {
  for await (const lines of pieces) {
    const shown = lines.filter(({ number }) => number <= last)
    if (shown.length > 0) yield shown.map((line) => `${toText(line)}\n`).join('')
    if (shown.length < lines.length) return
  }
}

/** `12 2026-01-01T00:00:00.000Z BUILDING stdout text` */
const toText = ({ number, time, phase, stream, text }: LogLine): string =>
  `${number} ${new Date(time).toISOString()} ${phase || '-'} ${stream} ${text}`

const toEvent = (line: LogLine): string => `id: ${line.number}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`

/** The text of a stream of events, of which `toEvent` makes one for each line. */
export async function* withKeepAlive<Line>(
  lines: AsyncGenerator<Line>,
  toEvent: (line: Line) => string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  // Sent at once, so that the client knows that the stream is open.
  yield ': open\n\n'
  let next = lines.next()
  while (!signal.aborted) {
    const timer = Promise.withResolvers<'quiet'>()
    const timeout = setTimeout(() => timer.resolve('quiet'), KEEP_ALIVE_MS)
    const arrived = await Promise.race([next, timer.promise])
    clearTimeout(timeout)
    if (arrived === 'quiet') {
      yield ': quiet\n\n'
      continue
    }
    if (arrived.done) {
      // When the service stops, or the reader loses access, the log itself is not at its end.
      if (!signal.aborted) yield 'event: end\ndata: {}\n\n'
      return
    }
    yield toEvent(arrived.value)
    next = lines.next()
  }
}

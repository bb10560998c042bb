/**
 * What is written while it is read. A log is read as text, which is quick for lines that are there, or followed as server-sent
 * events; after a lost connection or a restart of the service it is asked for again, from the last line on.
 */
import { pause, piecesOf } from './bodies.ts'
import { HeadlandError } from './errors.ts'
import { createEventParser, MAX_HELD_LENGTH, type ServerEvent } from './event-parser.ts'
import { type LogLine, notALog, textLineIn } from './log-lines.ts'
import type { CallOptions, Query } from './route-types.ts'

/** Asks for the log, with these in addition; gives the response once its head is there. */
export type Ask = (options: Pick<CallOptions, 'headers' | 'signal'> & { query: Query }) => Promise<Response>

export type FollowOptions = {
  /** The number of the last line that the caller has already. */
  after?: number
  signal: AbortSignal
  /** False for a running app: an `end` event then means that the service is about to stop. */
  hasEnd?: boolean
  /** Called when the connection is lost, and when it is back. */
  onConnection?(isThere: boolean): void
  timeouts?: Partial<Timeouts>
}

type Timeouts = { pauseMs: number; maxPauseMs: number; silenceMs: number; absenceMs: number }

const TIMEOUTS: Timeouts = {
  pauseMs: 250,
  maxPauseMs: 5000,
  // The service sends at least a keep-alive every 15 seconds.
  silenceMs: 50_000,
  // A service that restarts is back long before.
  absenceMs: 4 * 60_000,
}

/** What the events of a stream hold: rising numbers, by which it is resumed. `read` throws where one is not of this form. */
export type EventForm<Item> = { event: string; read(data: string): Item }

/** Ends when the log does; a log of a running app has no end. Throws when the service refuses, or is away for too long. */
export async function* followEvents<Item extends { number: number }>(
  ask: Ask,
  { event: wanted, read }: EventForm<Item>,
  { after = 0, signal, hasEnd = true, onConnection, timeouts }: FollowOptions,
): AsyncGenerator<Item> {
  const { pauseMs, maxPauseMs, silenceMs, absenceMs } = { ...TIMEOUTS, ...timeouts }
  let last = after
  let wait = pauseMs
  let lostAt: number | undefined
  for (;;) {
    try {
      for await (const { event, data } of eventsOf(ask, { last, silenceMs, signal })) {
        if (lostAt !== undefined) onConnection?.(true)
        lostAt = undefined
        wait = pauseMs
        if (event === 'end' && hasEnd) return
        if (event !== wanted) continue
        const item = read(data)
        if (item.number <= last) continue
        last = item.number
        yield item
      }
    } catch (error) {
      signal.throwIfAborted()
      if (isRefusal(error)) throw error
      if (lostAt !== undefined && performance.now() - lostAt > absenceMs) throw error
    }
    signal.throwIfAborted()
    if (lostAt === undefined) onConnection?.(false)
    lostAt ??= performance.now()
    await pause(wait, signal)
    wait = Math.min(wait * 2, maxPauseMs)
  }
}

/** Whether a retry is useless: the service refused, or what it sends is no log. A busy or absent service may come back. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof HeadlandError)) return false
  if (error.message === notALog().message) return true
  return error.status >= 300 && error.status < 500 && error.status !== 408 && error.status !== 429
}

type Connection = { last: number; silenceMs: number; signal: AbortSignal }

/** One connection. Its first event is `open`, so that the caller sees when it is established. */
async function* eventsOf(ask: Ask, { last, silenceMs, signal }: Connection): AsyncGenerator<ServerEvent> {
  const headers = { accept: 'text/event-stream', ...(last > 0 ? { 'last-event-id': String(last) } : {}) }
  const take = createEventParser()
  for await (const text of textOf(ask, { headers, signal, query: {} }, silenceMs)) {
    if (text === undefined) yield { event: 'open', data: '' }
    else yield* take(text)
  }
}

/** The number of the last line that a log has. */
export async function lastNumber(ask: Ask): Promise<number> {
  const response = await ask({ headers: { accept: 'text/plain' }, query: {} })
  await response.body?.cancel()
  const number = Number(response.headers.get('x-next-offset') ?? 0)
  if (!Number.isSafeInteger(number)) throw notALog()
  return number
}

/** The limit of text that is no log line, and of repeated lines. */
const MAX_STRAY_LENGTH = 4 * 1024 * 1024

/** The lines after the given one that the log has now. */
export async function* readLines(ask: Ask, after: number, signal?: AbortSignal): AsyncGenerator<LogLine> {
  const options = { query: { offset: after }, headers: { accept: 'text/plain' }, signal }
  let rest = ''
  let strayLength = 0
  let last = after
  for await (const text of textOf(ask, options, TIMEOUTS.silenceMs)) {
    rest += text ?? ''
    if (rest.length > MAX_HELD_LENGTH + (text ?? '').length || strayLength > MAX_STRAY_LENGTH) throw notALog()
    if (!text?.includes('\n')) continue
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const read = textLineIn(line)
      if (!read || read.number <= last) strayLength += line.length + 1
      else {
        last = read.number
        yield read
      }
    }
  }
}

/** The text of a response in chunks, after one `undefined` for its beginning. Throws where nothing is received for so long. */
async function* textOf(
  ask: Ask,
  { signal, ...options }: Parameters<Ask>[0],
  silenceMs: number,
): AsyncGenerator<string | undefined> {
  const silent = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const onMessage = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silent.abort(new Error('the service sent nothing for too long')), silenceMs)
  }
  onMessage()
  try {
    const until = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal
    const response = await ask({ ...options, signal: until })
    yield undefined
    const decoder = new TextDecoder()
    for await (const piece of piecesOf(response)) {
      onMessage()
      yield decoder.decode(piece, { stream: true })
    }
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Lines of a log, in order, each once. A log is read as text, which is quick for existing lines, or followed as server-sent
 * events; after a lost connection or a restart of the service it reconnects and continues after the last line.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CallFailed } from '../connection/failures.ts'
import type { CallOptions, Service } from '../connection/service.ts'
import type { Path } from '../project/path.ts'

export type LogLine = {
  number: number
  /** Milliseconds since 1970. */
  time: number
  stream: 'stdout' | 'stderr' | 'service'
  /** Of a build; empty for what a running app writes. */
  phase: string
  text: string
}

type FollowOptions = {
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

/** Ends when the log does; a log of a running app has no end. Throws when the service refuses, or is away for too long. */
export const followLog = (service: Service, path: Path, options: FollowOptions): AsyncGenerator<LogLine> =>
  followEvents(service, path, { event: 'line', read: lineIn }, options)

/** What the events of a stream hold: rising numbers, by which it is resumed. `read` throws where one is not of this form. */
export type EventForm<Item> = { event: string; read(data: string): Item; query?: CallOptions['query'] }

/** The same for other streams. */
export async function* followEvents<Item extends { number: number }>(
  service: Service,
  path: Path,
  { event: wanted, read, query = {} }: EventForm<Item>,
  { after = 0, signal, hasEnd = true, onConnection, timeouts }: FollowOptions,
): AsyncGenerator<Item> {
  const { pauseMs, maxPauseMs, silenceMs, absenceMs } = { ...TIMEOUTS, ...timeouts }
  let last = after
  let wait = pauseMs
  let lostAt: number | undefined
  for (;;) {
    try {
      for await (const { event, data } of eventsOf(service, path, { last, silenceMs, signal, query })) {
        if (lostAt !== undefined) onConnection?.(true)
        lostAt = undefined
        wait = pauseMs
        if (event === 'end' && hasEnd) return
        if (event !== wanted) continue
        const line = read(data)
        if (line.number <= last) continue
        last = line.number
        yield line
      }
    } catch (error) {
      signal.throwIfAborted()
      if (isRefusal(error)) throw error
      if (lostAt !== undefined && performance.now() - lostAt > absenceMs) throw error
    }
    signal.throwIfAborted()
    if (lostAt === undefined) onConnection?.(false)
    lostAt ??= performance.now()
    await pause(wait, undefined, { signal })
    wait = Math.min(wait * 2, maxPauseMs)
  }
}

/** Whether a retry is useless: the service refused, or what it sends is no log. A busy or absent service may come back. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof CallFailed)) return false
  if (error instanceof NotALog) return true
  return error.status >= 300 && error.status < 500 && error.status !== 408 && error.status !== 429
}

export class NotALog extends CallFailed {
  constructor() {
    const message = 'What the service sends is not a log of a Headland. Is it the right address?'
    super({ status: 0, reason: 'NO_ANSWER', message })
  }
}

type ServerEvent = { event: string; data: string }

/** One connection. Its first event is `open`, so that the caller sees when it is established. */
async function* eventsOf(
  service: Service,
  path: Path,
  {
    last,
    silenceMs,
    signal,
    query,
  }: { last: number; silenceMs: number } & Required<Pick<CallOptions, 'signal' | 'query'>>,
): AsyncGenerator<ServerEvent> {
  const headers = { accept: 'text/event-stream', ...(last > 0 ? { 'last-event-id': String(last) } : {}) }
  const take = createEventParser()
  for await (const text of textOf(service, path, { headers, signal, query }, silenceMs)) {
    if (text === undefined) yield { event: 'open', data: '' }
    else yield* take(text)
  }
}

/** The service cuts a line at 8,192 characters; JSON may escape one as six. */
const MAX_HELD_LENGTH = 256 * 1024

/** Takes chunks of text, cut anywhere, and returns the complete events (HTML, section 9.2.6). */
export function createEventParser(): (text: string) => ServerEvent[] {
  let rest = ''
  let event = ''
  let data: string[] = []
  let length = 0
  return (text) => {
    const found: ServerEvent[] = []
    rest += text
    if (rest.length + length > MAX_HELD_LENGTH + text.length) throw new NotALog()
    if (!/[\r\n]/.test(text)) return found
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) found.push({ event: event || 'message', data: data.join('\n') })
        event = ''
        data = []
        length = 0
        continue
      }
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      if (field === 'event') event = value
      if (field === 'data') data.push(value)
      length += line.length
    }
    return found
  }
}

/** The line that an event holds. */
function lineIn(data: string): LogLine {
  let line: Partial<LogLine> | null
  try {
    line = JSON.parse(data)
  } catch {
    throw new NotALog()
  }
  const { number, time, stream, phase, text } = line ?? {}
  const isLine = Number.isSafeInteger(number) && isTime(time) && typeof phase === 'string' && typeof text === 'string'
  if (!isLine || !STREAMS.includes(stream as LogLine['stream'])) throw new NotALog()
  return { number, time, stream, phase, text } as LogLine
}

const STREAMS: readonly LogLine['stream'][] = ['stdout', 'stderr', 'service']

/** Within the range of a `Date`. */
const isTime = (time: unknown): boolean => !Number.isNaN(new Date(time as number).getTime())

/** The number of the last line that a log has. */
export async function lastNumber(service: Service, path: Path): Promise<number> {
  const response = await service.ask(path, { headers: { accept: 'text/plain' } })
  await response.body?.cancel()
  const number = Number(response.headers.get('x-next-offset') ?? 0)
  if (!Number.isSafeInteger(number)) throw new NotALog()
  return number
}

/** The limit of text that is no log line, and of repeated lines. */
const MAX_STRAY_LENGTH = 4 * 1024 * 1024

/** The current lines of a log after the given one. */
export async function* readLog(service: Service, path: Path, after: number): AsyncGenerator<LogLine> {
  const options = { query: { offset: after }, headers: { accept: 'text/plain' } }
  let rest = ''
  let strayLength = 0
  let last = after
  for await (const text of textOf(service, path, options, TIMEOUTS.silenceMs)) {
    rest += text ?? ''
    if (rest.length > MAX_HELD_LENGTH + (text ?? '').length || strayLength > MAX_STRAY_LENGTH) throw new NotALog()
    if (!text?.includes('\n')) continue
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const read = readTextLine(line)
      if (!read || read.number <= last) strayLength += line.length + 1
      else {
        last = read.number
        yield read
      }
    }
  }
}

/** `12 2026-01-01T00:00:00.000Z BUILDING stdout text`; `-` stands for no phase. */
function readTextLine(line: string): LogLine | undefined {
  const [, number, time = '', phase = '', stream, text = ''] =
    /^(\d{1,15}) (\S+) (\S+) (stdout|stderr|service) (.*)$/s.exec(line) ?? []
  if (number === undefined || !isTime(Date.parse(time))) return undefined
  return {
    number: Number(number),
    time: Date.parse(time),
    phase: phase === '-' ? '' : phase,
    stream: stream as LogLine['stream'],
    text,
  }
}

/** The text of a response in chunks, after one `undefined` for its beginning. Throws where nothing is received for so long. */
async function* textOf(
  service: Service,
  path: Path,
  { signal, ...options }: CallOptions,
  silenceMs: number,
): AsyncGenerator<string | undefined> {
  const silent = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onMessage = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silent.abort(new Error('the service sent nothing for too long')), silenceMs)
  }
  onMessage()
  try {
    const until = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal
    const response = await service.ask(path, { ...options, signal: until })
    yield undefined
    if (!response.body) return
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      onMessage()
      yield text
    }
  } finally {
    clearTimeout(timer)
  }
}

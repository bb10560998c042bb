/**
 * Lines of a log, in order, each once. A log is read as text, which is quick for what is there, or followed as events; a
 * connection that drops, and a service that starts anew, are waited for, and the rest is asked for from the last line on.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CallFailed, type Service } from './service.ts'

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
  /** The number of the last line that is there already. */
  after?: number
  signal: AbortSignal
  /** Hears of it when the connection is lost, and when it is there again. */
  onConnection?(isThere: boolean): void
  patience?: Partial<Patience>
}

type Patience = { pauseMs: number; pauseMostMs: number; silenceMs: number; absenceMs: number }

const PATIENCE: Patience = {
  pauseMs: 250,
  pauseMostMs: 5000,
  // The service says something every 15 seconds, if only that there is nothing to say.
  silenceMs: 50_000,
  // A service that starts anew is back long before.
  absenceMs: 4 * 60_000,
}

/** Ends when the log does; a log of a running app has no end. Throws when the service says no, or is away for too long. */
export async function* followLog(
  service: Service,
  path: string,
  { after = 0, signal, onConnection, patience }: FollowOptions,
): AsyncGenerator<LogLine> {
  const { pauseMs, pauseMostMs, silenceMs, absenceMs } = { ...PATIENCE, ...patience }
  let last = after
  let wait = pauseMs
  let lostAt: number | undefined
  for (;;) {
    try {
      for await (const { event, data } of eventsOf(service, path, last, silenceMs, signal)) {
        if (lostAt !== undefined) onConnection?.(true)
        lostAt = undefined
        wait = pauseMs
        if (event === 'end') return
        if (event !== 'line') continue
        const line = JSON.parse(data) as LogLine
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
    wait = Math.min(wait * 2, pauseMostMs)
  }
}

/** One that is busy or away may come back; one that says no will say no again. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof CallFailed)) return false
  return error.status >= 300 && error.status < 500 && error.status !== 408 && error.status !== 429
}

type ServerEvent = { event: string; data: string }

/** One connection, which begins with an event of its own name, so that an open one is known from one that is not. */
async function* eventsOf(
  service: Service,
  path: string,
  last: number,
  silenceMs: number,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const silent = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const hear = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silent.abort(new Error('nothing was heard of the service')), silenceMs)
  }
  hear()
  try {
    const response = await service.ask(path, {
      headers: { accept: 'text/event-stream', ...(last > 0 ? { 'last-event-id': String(last) } : {}) },
      signal: AbortSignal.any([signal, silent.signal]),
    })
    yield { event: 'open', data: '' }
    const take = createEventParser()
    for await (const text of textOf(response)) {
      hear()
      yield* take(text)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Takes pieces of text, cut anywhere, and gives the events that are whole (HTML, section 9.2.6). */
export function createEventParser(): (text: string) => ServerEvent[] {
  let rest = ''
  let event = ''
  let data: string[] = []
  return (text) => {
    const found: ServerEvent[] = []
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) found.push({ event: event || 'message', data: data.join('\n') })
        event = ''
        data = []
        continue
      }
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      if (field === 'event') event = value
      if (field === 'data') data.push(value)
    }
    return found
  }
}

/** The number of the last line that a log has. */
export async function lastNumber(service: Service, path: string): Promise<number> {
  const response = await service.ask(path, { headers: { accept: 'text/plain' } })
  await response.body?.cancel()
  return Number(response.headers.get('x-next-offset') ?? 0)
}

/** What a log has now, after a line. */
export async function* readLog(service: Service, path: string, after: number): AsyncGenerator<LogLine> {
  const response = await service.ask(path, { query: { offset: after }, headers: { accept: 'text/plain' } })
  let rest = ''
  for await (const text of textOf(response)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const read = readTextLine(line)
      if (read) yield read
    }
  }
}

/** `12 2026-01-01T00:00:00.000Z BUILDING stdout text`; `-` stands for no phase. */
function readTextLine(line: string): LogLine | undefined {
  const [, number, time = '', phase = '', stream, text = ''] =
    /^(\d+) (\S+) (\S+) (stdout|stderr|service) (.*)$/s.exec(line) ?? []
  if (number === undefined) return undefined
  return {
    number: Number(number),
    time: Date.parse(time),
    phase: phase === '-' ? '' : phase,
    stream: stream as LogLine['stream'],
    text,
  }
}

async function* textOf(response: Response): AsyncGenerator<string> {
  if (!response.body) return
  yield* response.body.pipeThrough(new TextDecoderStream())
}

/**
 * Reads a log to its end, and follows it while it is written. Each attempt first fetches the missing lines as text,
 * which is fast, and then follows new lines from the last known one; so an attempt after a broken connection is the
 * same as the first. States:
 *
 *   reading    the lines so far are being fetched
 *   following  lines arrive as they are written
 *   waiting    the connection broke, or the page is hidden; it will be retried
 *   over       the log is complete
 *   refused    the service refused, and a retry would not help
 */
import { ask, urlOf } from '../api/client.ts'
import { readEventStream } from '../api/live/event-stream.ts'
import { CallFailed, type Problem } from '../api/problem.ts'
import type { Line } from './lines.ts'
import { createTextReader, readEventLine } from './read-lines.ts'

export type FollowState = 'reading' | 'following' | 'waiting' | 'over' | 'refused'

/**
 * Reports when the page is hidden for long and when it is visible again. A browser opens few connections to one host.
 */
export type Attention = {
  /** Aborted when the page was hidden for long. */
  lost(): AbortSignal
  /** Resolves when the page is visible. */
  present(): Promise<void>
}

type Repeated = {
  /** The number of the last known line. */
  last(): number
  onState(state: FollowState, problem?: Problem): void
  signal: AbortSignal
  attention: Attention
  retryMs?: { first: number; max: number }
}

type Options = Repeated & {
  /** The address of the log, as `/v1/…/log`. */
  address: string
  onLines(lines: readonly Line[]): void
}

export const followLog = (options: Options): Promise<void> =>
  keepFollowing((signal) => attempt(options, signal), options)

/** Each attempt resolves to true when nothing more will come. */
export async function keepFollowing(
  attempt: (signal: AbortSignal) => Promise<boolean>,
  options: Repeated,
): Promise<void> {
  const { onState, signal, attention, retryMs = { first: 1_000, max: 15_000 } } = options
  let wait = retryMs.first
  while (!signal.aborted) {
    const before = options.last()
    const until = AbortSignal.any([signal, attention.lost()])
    try {
      if (await attempt(until)) return onState('over')
    } catch (error) {
      if (signal.aborted) return
      if (isRefusal(error)) return onState('refused', error.problem)
      // Anything else is a broken connection: fetch the missing lines again.
    }
    if (signal.aborted) return
    onState('waiting')
    if (until.aborted) await attention.present()
    else await pause(wait, signal)
    wait = options.last() > before ? retryMs.first : Math.min(wait * 2, retryMs.max)
  }
}

/** Returns true when the log is complete. */
async function attempt({ address, last, onLines, onState }: Options, signal: AbortSignal): Promise<boolean> {
  onState('reading')
  const response = await ask(urlOf(address, { offset: last() }), { signal, headers: { accept: 'text/plain' } })
  const take = createTextReader(onLines)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader) {
    const { value, done } = await reader.read()
    if (done) break
    take(value)
  }

  let isWhole = false
  await readEventStream(address, {
    signal,
    lastEventId: last() > 0 ? String(last()) : undefined,
    onOpen: () => onState('following'),
    onEvent({ event, data }) {
      if (event === 'line') onLines([readEventLine(data)])
      if (event === 'end') isWhole = true
    },
  })
  return isWhole
}

/** A busy or unreachable service may recover; a refusal would be repeated. */
function isRefusal(error: unknown): error is CallFailed {
  if (!(error instanceof CallFailed)) return false
  const { status } = error.problem
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}

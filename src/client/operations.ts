/**
 * Waits until an operation is over. The service completes every operation that it acknowledged, so the wait survives lost
 * connections and restarts of the service, and starts nothing twice.
 */
import { pause } from './bodies.ts'
import { HeadlandError } from './errors.ts'

/** Shorter than what proxies allow a reply to take: nginx and AWS 60 s, some 30 s. */
const WAIT_SECONDS = 20
/** Where states in between are shown, so that a short one is not missed. */
const WATCH_SECONDS = 1
/** A response that is later than the requested wait and this means a lost connection. */
const GRACE_SECONDS = 15
/** A service that restarts is back long before this. */
const TIMEOUT_MS = 4 * 60_000
const PAUSE_MS = 500
const MAX_PAUSE_MS = 10_000

export type WaitOptions<Operation> = {
  /** Called with every state in between, about every second. */
  onState?: ((operation: Operation) => void) | undefined
  signal?: AbortSignal | undefined
}

type Waiting<Operation> = WaitOptions<Operation> & {
  /** The operation, done or not, after at most so many seconds. */
  wait(seconds: number, signal: AbortSignal): Promise<Operation>
  /** Whether an error is about the connection and not about the operation. */
  isPassing(error: unknown): boolean
}

/** The operation when it is done, well or not. Throws the last error where the service was away for too long. */
export async function untilDone<Operation extends { done: boolean }>(
  operation: Operation,
  { wait, isPassing, onState, signal }: Waiting<Operation>,
): Promise<Operation> {
  const seconds = onState ? WATCH_SECONDS : WAIT_SECONDS
  let found = operation
  let silentSince: number | undefined
  for (let pauseMs = 0; !found.done; ) {
    onState?.(found)
    if (pauseMs > 0) await pause(pauseMs, signal)
    const asked = performance.now()
    try {
      const late = AbortSignal.timeout((seconds + GRACE_SECONDS) * 1000)
      found = await wait(seconds, signal ? AbortSignal.any([signal, late]) : late)
      silentSince = undefined
      // A service that is about to stop answers at once, which would make a busy loop.
      pauseMs = Math.max(0, PAUSE_MS - (performance.now() - asked))
    } catch (error) {
      if (signal?.aborted || !(isPassing(error) || (error as Error).name === 'TimeoutError')) throw error
      silentSince ??= asked
      if (performance.now() - silentSince > TIMEOUT_MS) throw error
      const retryAfter = error instanceof HeadlandError ? error.retryAfterSeconds : undefined
      const wanted = retryAfter === undefined ? pauseMs * 1.5 : retryAfter * 1000
      pauseMs = Math.min(Math.max(PAUSE_MS, wanted), MAX_PAUSE_MS)
    }
  }
  return found
}

/**
 * Waits until an operation is over. The service completes every operation that it acknowledged, so the client survives lost
 * connections and restarts of the service by waiting again, and starts nothing twice.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { EXIT, type resources, STATUS_CODES } from '../contract/index.ts'
import { CallFailed, noAnswer, problemOf } from './connection/failures.ts'
import type { Service } from './connection/service.ts'
import type { Terminal } from './output/terminal.ts'
import { api, type Path, resource } from './project/path.ts'

/** Shorter than what proxies allow a reply to take: nginx and AWS 60 s, some 30 s. */
const WAIT_SECONDS = 20
/** Where phases are shown, so that a short one is not missed. */
const WATCH_SECONDS = 1
/** A response that is later than the requested wait and this means a lost connection. */
const GRACE_SECONDS = 15
/** A service that restarts is back long before this. */
const TIMEOUT_MS = 4 * 60_000
const PAUSE_MS = 500
const MAX_PAUSE_MS = 10_000

/** The operation when it succeeded; `onPhase` is called with every state in between. Throws where it failed. */
export async function finish(
  service: Service,
  operation: resources.Operation,
  onPhase?: (operation: resources.Operation) => void,
  signal?: AbortSignal,
): Promise<resources.Operation> {
  const seconds = onPhase ? WATCH_SECONDS : WAIT_SECONDS
  const path = resource(operation.name)
  let found = operation
  let silentSince: number | undefined
  for (let pauseMs = 0; !found.done; ) {
    onPhase?.(found)
    if (pauseMs > 0) await pause(pauseMs, undefined, { ...(signal ? { signal } : {}) })
    const asked = performance.now()
    try {
      found = await waitFor(service, path, seconds, signal)
      silentSince = undefined
      // A service that is about to stop answers at once, which would make a busy loop.
      pauseMs = Math.max(0, PAUSE_MS - (performance.now() - asked))
    } catch (error) {
      if (signal?.aborted || !isPassing(error)) throw error
      silentSince ??= asked
      if (performance.now() - silentSince > TIMEOUT_MS) throw stillAtWork(error, operation)
      const retryAfter = error instanceof CallFailed ? error.retryAfterSeconds : undefined
      const wanted = retryAfter === undefined ? pauseMs * 1.5 : retryAfter * 1000
      pauseMs = Math.min(Math.max(PAUSE_MS, wanted), MAX_PAUSE_MS)
    }
  }
  if (found.error) throw failureIn(found, service.url)
  return found
}

/** The environment that results from it; meanwhile the phase is shown on a terminal. */
export async function finishInSight(
  { service, terminal }: { service: Service; terminal: Terminal },
  operation: resources.Operation,
): Promise<resources.Environment> {
  try {
    const { response } = await finish(service, operation, ({ metadata }) => terminal.status(`${metadata.phase} …`))
    return response as resources.Environment
  } finally {
    terminal.status(undefined)
  }
}

/** The operation, done or not, after at most so many seconds. */
function waitFor(service: Service, operation: Path, seconds: number, signal: AbortSignal | undefined) {
  const late = AbortSignal.timeout((seconds + GRACE_SECONDS) * 1000)
  return service.call<resources.Operation>(api`/v1/${operation}:wait`, {
    method: 'POST',
    query: { timeout: `${seconds}s` },
    signal: signal ? AbortSignal.any([signal, late]) : late,
  })
}

/** Whether the error is about the connection and not about the operation: a later try may succeed. */
const isPassing = (error: unknown): boolean =>
  error instanceof CallFailed ? error.exitCode === EXIT.service : (error as Error).name === 'TimeoutError'

function stillAtWork(error: unknown, { name }: resources.Operation): CallFailed {
  const { message } = error as Error
  return noAnswer(`${message} The operation continues without this command as soon as it can: ${name}`)
}

/** The error of an operation, as a failed call. */
export function failureIn({ error }: Pick<resources.Operation, 'error'>, url?: string): CallFailed {
  const details = Array.isArray(error?.details) ? error.details : []
  const reason = details.find((detail) => typeof detail?.reason === 'string')?.reason as string | undefined
  const row = reason === undefined ? undefined : problemOf(reason)
  // A reason that is newer than this client still has a code, which says whose fault it is.
  const isOfService = SERVICE_CODES.some((code) => code === error?.code)
  return new CallFailed({
    status: row?.http ?? (isOfService ? 500 : 400),
    reason: reason ?? 'UNKNOWN',
    message: String(error?.message ?? 'It failed.'),
    ...(url === undefined ? {} : { url }),
  })
}

const SERVICE_CODES = [STATUS_CODES.INTERNAL, STATUS_CODES.UNAVAILABLE, STATUS_CODES.DEADLINE_EXCEEDED]

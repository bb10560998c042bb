/**
 * Waits until an operation is over. What the service acknowledged it works on until it is done, so a connection that
 * drops and a service that starts anew in between are waited for, and nothing is asked for twice.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { EXIT, type resources, STATUS_CODES } from '../contract/index.ts'
import { CallFailed, noAnswer, problemOf } from './connection/failures.ts'
import type { Service } from './connection/service.ts'
import type { Terminal } from './output/terminal.ts'
import { api, type Path, resource } from './project/path.ts'

/** Shorter than what proxies allow a reply to take: nginx and AWS 60 s, some 30 s. */
const WAIT_SECONDS = 20
/** Where phases are shown, so that a short one is seen. */
const WATCH_SECONDS = 1
/** Nothing may take this long beyond what was asked for: the connection is lost, though nobody said so. */
const GRACE_SECONDS = 15
/** A service that starts anew is back long before; one that is not is worth telling about. */
const TIMEOUT_MS = 4 * 60_000
const PAUSE_MS = 500
const MAX_PAUSE_MS = 10_000

/** The operation when it went well; `onPhase` hears of every answer in between. What went wrong is thrown. */
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
      // A service that is about to stop answers at once, and would be asked in a circle.
      pauseMs = Math.max(0, PAUSE_MS - (performance.now() - asked))
    } catch (error) {
      if (signal?.aborted || !isPassing(error)) throw error
      silentSince ??= asked
      if (performance.now() - silentSince > TIMEOUT_MS) throw stillAtWork(error, operation)
      const told = error instanceof CallFailed ? error.retryAfterSeconds : undefined
      const wanted = told === undefined ? pauseMs * 1.5 : told * 1000
      pauseMs = Math.min(Math.max(PAUSE_MS, wanted), MAX_PAUSE_MS)
    }
  }
  if (found.error) throw failureIn(found, service.url)
  return found
}

/** The environment that it leads to, with the phase in sight of whoever waits at a terminal. */
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

/** Nothing that speaks of the operation: nobody answered, or somebody who may do so later. */
const isPassing = (error: unknown): boolean =>
  error instanceof CallFailed ? error.exitCode === EXIT.service : (error as Error).name === 'TimeoutError'

function stillAtWork(error: unknown, { name }: resources.Operation): CallFailed {
  const { message } = error as Error
  return noAnswer(`${message} The operation continues without this command as soon as it can: ${name}`)
}

/** What an operation ended with, as a failed call. */
export function failureIn({ error }: Pick<resources.Operation, 'error'>, url?: string): CallFailed {
  const details = Array.isArray(error?.details) ? error.details : []
  const reason = details.find((detail) => typeof detail?.reason === 'string')?.reason as string | undefined
  const row = reason === undefined ? undefined : problemOf(reason)
  // A reason that is newer than this client still has a code that tells whose fault it is.
  const isOfService = SERVICE_CODES.some((code) => code === error?.code)
  return new CallFailed({
    status: row?.http ?? (isOfService ? 500 : 400),
    reason: reason ?? 'UNKNOWN',
    message: String(error?.message ?? 'It failed.'),
    ...(url === undefined ? {} : { url }),
  })
}

const SERVICE_CODES = [STATUS_CODES.INTERNAL, STATUS_CODES.UNAVAILABLE, STATUS_CODES.DEADLINE_EXCEEDED]

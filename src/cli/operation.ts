/** Waits until an operation is over, as the client does, and turns its failure into one with an exit code. */
import { ENVIRONMENT, type Environment, type Operation, untilDone } from '../client/index.ts'
import { EXIT, STATUS_CODES } from '../contract/index.ts'
import { CallFailed, noAnswer, problemOf } from './connection/failures.ts'
import type { Service } from './connection/service.ts'
import type { Terminal } from './output/terminal.ts'
import { namesIn } from './project/resource-names.ts'

/** The operation when it succeeded; `onPhase` is called with every state in between. Throws where it failed. */
export async function finish(
  service: Service,
  operation: Operation,
  onPhase?: (operation: Operation) => void,
  signal?: AbortSignal,
): Promise<Operation> {
  const path = namesIn(operation.name, 'account', 'app', 'environment', 'operation')
  const found = await untilDone(operation, {
    onState: onPhase,
    signal,
    isPassing,
    wait: (seconds, until) =>
      service.client.call(`POST ${ENVIRONMENT}/operations/{operation}:wait`, {
        path,
        query: { timeout: `${seconds}s` },
        signal: until,
      }),
  }).catch((error) => {
    throw !signal?.aborted && isLost(error) ? stillAtWork(error, operation) : error
  })
  if (found.error) throw failureIn(found, service.url)
  return found
}

/** The environment that results from it; meanwhile the phase is shown on a terminal. */
export async function finishInSight(
  { service, terminal }: { service: Service; terminal: Terminal },
  operation: Operation,
): Promise<Environment> {
  try {
    const { response } = await finish(service, operation, ({ metadata }) => terminal.status(`${metadata.phase} …`))
    return response as Environment
  } finally {
    terminal.status(undefined)
  }
}

/** Whether the error is about the connection and not about the operation: a later try may succeed. */
const isPassing = (error: unknown): boolean => error instanceof CallFailed && error.exitCode === EXIT.service

/** The wait was given up: the service was away for too long. */
const isLost = (error: unknown): boolean => isPassing(error) || (error as Error).name === 'TimeoutError'

function stillAtWork(error: unknown, { name }: Operation): CallFailed {
  const { message } = error as Error
  return noAnswer(`${message} The operation continues without this command as soon as it can: ${name}`)
}

/** The error of an operation, as a failed call. */
export function failureIn({ error }: Pick<Operation, 'error'>, url?: string): CallFailed {
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

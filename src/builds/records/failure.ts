/** Why a build failed, as it is recorded and shown. */
import { causeOf, type Fault, helpPage, PROBLEMS, type Problem, type Reason } from '../../contract/index.ts'

export type Failure = {
  reason: Reason
  fault: Fault
  retryable: boolean
  message: string
  logLine: number
  /** Where the cause is, as a sentence. */
  cause: string
  /** What to do, where the message does not contain it. */
  todo: string
  page: string
  changes: string[]
}

/** Why the first attempt failed, where a second one was made, and why it was made. */
export type FirstFailure = Pick<Failure, 'reason' | 'message' | 'logLine'> & { retriedBecause: string }

/** Reasons whose messages say what happened, but not what to do. */
const WITHOUT_ADVICE: ReadonlySet<Reason> = new Set<Reason>([
  'BUILD_SCRIPT_FAILED',
  'DISK_LIMIT',
  'IMAGE_REGISTRY_FAILED',
  'INSTALL_FAILED',
  'NO_OUTPUT',
  'OUTPUT_TOO_LARGE',
  'PORT_NOT_BOUND',
  'START_CRASHED',
  'START_TIMEOUT',
  'TOO_MANY_PROCESSES',
])

/** `changes` lists what differs from the last good build. `todo` is empty where the message has the advice. */
export function toFailure(problem: Problem, logLine: number, changes: string[]): Failure {
  const { reason, message } = problem
  const { fault, retryable, meaning } = PROBLEMS[reason]
  const todo = WITHOUT_ADVICE.has(reason) || message === meaning ? PROBLEMS[reason].todo : ''
  return { reason, fault, retryable, message, logLine, cause: causeOf(reason), todo, page: helpPage(reason), changes }
}

export const toFirstFailure = (
  { reason, message }: Problem,
  logLine: number,
  retriedBecause: string,
): FirstFailure => ({
  reason,
  message,
  logLine,
  retriedBecause,
})

/** Failures that earlier versions recorded have fewer fields, and may have a reason that is no longer used. */
export function readFailure(text: string): Failure {
  const failure = JSON.parse(text)
  const cause = Object.hasOwn(PROBLEMS, failure.reason) ? causeOf(failure.reason) : ''
  return { todo: '', page: '', changes: [], cause, ...failure }
}

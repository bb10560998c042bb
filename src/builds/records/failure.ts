/** Why a build failed, as it is kept with the build and told. */
import { causeOf, type Fault, helpPage, PROBLEMS, type Problem, type Reason } from '../../contract/index.ts'

export type Failure = {
  reason: Reason
  fault: Fault
  retryable: boolean
  message: string
  logLine: number
  /** Where the cause is, in a sentence. */
  cause: string
  /** What to do, where the message does not say it. */
  todo: string
  page: string
  changes: string[]
}

/** Why the first attempt failed, where a second one was made, and why it was made. */
export type FirstFailure = Pick<Failure, 'reason' | 'message' | 'logLine'> & { retriedBecause: string }

/** Their messages are no more than what happened: what to do is not in them. */
const WITHOUT_ADVICE: ReadonlySet<Reason> = new Set<Reason>([
  'BUILD_SCRIPT_FAILED',
  'DISK_LIMIT',
  'INSTALL_FAILED',
  'NO_OUTPUT',
  'OUTPUT_TOO_LARGE',
  'PORT_NOT_BOUND',
  'START_CRASHED',
  'START_TIMEOUT',
  'TOO_MANY_PROCESSES',
])

/** `changes` says what is not as it was for the last build that went well. What to do is not said twice. */
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

/** Failures of earlier versions say less, and may have a reason that is no longer used. */
export function readFailure(text: string): Failure {
  const failure = JSON.parse(text)
  const cause = Object.hasOwn(PROBLEMS, failure.reason) ? causeOf(failure.reason) : ''
  return { todo: '', page: '', changes: [], cause, ...failure }
}

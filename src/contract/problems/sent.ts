/** Errors between processes of the service: one that is meant for a caller stays one. */
import { Problem, type ProblemDetails } from './problems.ts'
import type { Reason } from './reasons.ts'

type SentError = { message: string; details?: unknown }

type SentProblem = Pick<ProblemDetails, 'metadata' | 'fields' | 'retryAfterSeconds'> & { reason: Reason }

export const SENT_PROBLEMS = {
  toData(error: unknown): SentError {
    if (!(error instanceof Problem)) return { message: error instanceof Error ? error.message : String(error) }
    const { message, reason, metadata, fields, retryAfterSeconds } = error
    const more = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    const details: SentProblem = { reason, metadata, fields, ...more }
    return { message, details }
  },
  fromData({ message, details: sent }: SentError): Error {
    if (!sent) return new Error(message)
    const { reason, ...details } = sent as SentProblem
    return new Problem(reason, message, details)
  },
}

/** Errors between the agent and the control process: one that is meant for a caller stays one. */
import { type ErrorCodec, PLAIN_ERRORS } from '../channel/index.ts'
import { Problem, type ProblemDetails, type Reason } from '../contract/index.ts'

type SentProblem = Pick<ProblemDetails, 'metadata' | 'fields' | 'retryAfterSeconds'> & { reason: Reason }

export const ERRORS: ErrorCodec = {
  toData(error) {
    if (!(error instanceof Problem)) return PLAIN_ERRORS.toData(error)
    const { message, reason, metadata, fields, retryAfterSeconds } = error
    const more = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    const details: SentProblem = { reason, metadata, fields, ...more }
    return { message, details }
  },
  fromData(data) {
    if (!data.details) return PLAIN_ERRORS.fromData(data)
    const { reason, ...details } = data.details as SentProblem
    return new Problem(reason, data.message, details)
  },
}

/** Errors for callers. They are thrown anywhere, and turned into a reply or an operation's error in one place each. */
import { helpPage, PROBLEMS, type Reason, STATUS_CODES } from './reasons.ts'

export type FieldViolation = { field: string; description: string }

export type ProblemDetails = {
  /** Facts for programs: values are strings, as in google.rpc.ErrorInfo. */
  metadata?: Record<string, string>
  /** Each bad field and what it must be. */
  fields?: FieldViolation[]
  /** Sent as Retry-After. */
  retryAfterSeconds?: number
  cause?: unknown
}

/** The only kind of error that is meant for a caller. Every other error is a fault of the service. */
export class Problem extends Error {
  readonly reason: Reason
  readonly metadata: Record<string, string>
  readonly fields: FieldViolation[]
  readonly retryAfterSeconds: number | undefined

  constructor(reason: Reason, message: string = PROBLEMS[reason].meaning, details: ProblemDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'Problem'
    this.reason = reason
    this.metadata = details.metadata ?? {}
    this.fields = details.fields ?? []
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

/** A field that is well-formed JSON of the right type but still not acceptable. */
export const fieldInvalid = (field: string, description: string): Problem =>
  new Problem('FIELD_INVALID', `${field}: ${description}`, { fields: [{ field, description }] })

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest'
const HELP = 'type.googleapis.com/google.rpc.Help'

export type ErrorDetail = Record<string, unknown> & { '@type': string }

const detailsOf = (problem: Problem): ErrorDetail[] => [
  { '@type': ERROR_INFO, reason: problem.reason, domain: 'headland', metadata: problem.metadata },
  ...(problem.fields.length > 0 ? [{ '@type': BAD_REQUEST, fieldViolations: problem.fields }] : []),
  // A path, since the client knows the address of the service.
  { '@type': HELP, links: [{ description: 'What it means and what to do', url: helpPage(problem.reason) }] },
]

/** The body of an error reply (AIP-193). */
export function errorBody(problem: Problem) {
  const { http, status } = PROBLEMS[problem.reason]
  return { error: { code: http, status, message: problem.message, details: detailsOf(problem) } }
}

/** The `error` of an operation: google.rpc.Status, whose code is the number of the status and not an HTTP status. */
export function operationError(problem: Problem) {
  return {
    code: STATUS_CODES[PROBLEMS[problem.reason].status],
    message: problem.message,
    details: detailsOf(problem),
  }
}

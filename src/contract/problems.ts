/**
 * Everything that can go wrong, as a closed table. The reason is what a program may branch on; the message is for people
 * and may change. `docs/reference/errors.md` is checked against this table.
 */

/** Canonical status names with the number that an operation's error carries (google.rpc.Code). */
export const STATUS_CODES = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const

export type Status = keyof typeof STATUS_CODES

/** Who can mend it: whoever sent the request, the app's own code, or whoever runs the service. */
export type Fault = 'caller' | 'app' | 'service'

type Row = { http: number; status: Status; fault: Fault; retryable: boolean; meaning: string; todo: string }

const row = (http: number, status: Status, fault: Fault, meaning: string, todo: string, retryable = false): Row => ({
  http,
  status,
  fault,
  retryable,
  meaning,
  todo,
})

export const PROBLEMS = {
  CREDENTIALS_REQUIRED: row(
    401,
    'UNAUTHENTICATED',
    'caller',
    'The request carries neither Basic credentials nor a session.',
    'Send `Authorization: Basic …` with an API user id and password, or log in.',
  ),
  CREDENTIALS_WRONG: row(
    401,
    'UNAUTHENTICATED',
    'caller',
    'The Basic credentials or the session are unknown, expired or revoked.',
    'Check the user id and password; make new ones with `headland credentials create`.',
  ),
  LOG_IN_FAILED: row(
    401,
    'UNAUTHENTICATED',
    'caller',
    'The e-mail address and the password do not belong together.',
    'Try again, or ask the operator for `headland users reset-password`.',
  ),
  ROLE_TOO_WEAK: row(
    403,
    'PERMISSION_DENIED',
    'caller',
    "The caller belongs to the account, but the caller's role does not allow this call.",
    'Use credentials with the role named in `metadata.needed`.',
  ),
  ORIGIN_REFUSED: row(
    403,
    'PERMISSION_DENIED',
    'caller',
    'A browser session was used from a page of another origin.',
    'Call from the portal, or use API credentials.',
  ),
  ROUTE_NOT_FOUND: row(404, 'NOT_FOUND', 'caller', 'No such path.', 'Look the path up in `/docs`.'),
  ACCOUNT_NOT_FOUND: row(
    404,
    'NOT_FOUND',
    'caller',
    'There is no such account, or it is not yours.',
    'List yours with `GET /v1/accounts`.',
  ),
  APP_NOT_FOUND: row(404, 'NOT_FOUND', 'caller', 'There is no such app in the account.', 'List the apps.'),
  ENVIRONMENT_NOT_FOUND: row(
    404,
    'NOT_FOUND',
    'caller',
    'There is no such environment in the app.',
    'List the environments.',
  ),
  OPERATION_NOT_FOUND: row(
    404,
    'NOT_FOUND',
    'caller',
    'There is no such operation in the environment.',
    'List the operations.',
  ),
  CREDENTIAL_NOT_FOUND: row(
    404,
    'NOT_FOUND',
    'caller',
    'There is no such credential in the account.',
    'List the credentials.',
  ),
  USER_NOT_FOUND: row(404, 'NOT_FOUND', 'caller', 'There is no user with that address.', 'Create the user.'),
  METHOD_NOT_ALLOWED: row(
    405,
    'UNIMPLEMENTED',
    'caller',
    'The path exists, but not with this method.',
    'Use one of the methods in the `Allow` header.',
  ),
  REQUEST_MALFORMED: row(
    400,
    'INVALID_ARGUMENT',
    'caller',
    'The request is not valid HTTP, or its address cannot be decoded.',
    'Check the percent escapes of the path, the headers and the lengths.',
  ),
  JSON_MALFORMED: row(
    400,
    'INVALID_ARGUMENT',
    'caller',
    'The body is not JSON in UTF-8.',
    'Send well-formed JSON; the message says where it breaks.',
  ),
  FIELD_INVALID: row(
    400,
    'INVALID_ARGUMENT',
    'caller',
    'A path segment, query parameter or body field is missing, unknown or malformed.',
    'The BadRequest detail names each field and what it must be.',
  ),
  VARIABLE_RESERVED: row(
    400,
    'INVALID_ARGUMENT',
    'caller',
    'A shell variable has a name that the service sets itself.',
    'Leave it out: the app finds the right value under that name.',
  ),
  PAGE_TOKEN_INVALID: row(
    400,
    'INVALID_ARGUMENT',
    'caller',
    'The pageToken does not come from this list.',
    'Pass nextPageToken of the page before with the same orderBy, or start again without one.',
  ),
  APP_HAS_ENVIRONMENTS: row(
    400,
    'FAILED_PRECONDITION',
    'caller',
    'An app that still has environments is not deleted by accident.',
    'Delete its environments first, or repeat the call with `?force=true`.',
  ),
  ENVIRONMENT_DELETING: row(
    400,
    'FAILED_PRECONDITION',
    'caller',
    'The environment is being deleted and takes no changes.',
    'Create another environment.',
  ),
  APP_EXISTS: row(
    409,
    'ALREADY_EXISTS',
    'caller',
    'The account has an app of that name; names that differ in case only are the same.',
    'Choose another appId.',
  ),
  ACCOUNT_EXISTS: row(409, 'ALREADY_EXISTS', 'caller', 'There is an account of that name.', 'Choose another name.'),
  USER_EXISTS: row(
    409,
    'ALREADY_EXISTS',
    'caller',
    'The user belongs to that account already.',
    'Use `headland users reset-password` for a new password.',
  ),
  BODY_TOO_LARGE: row(
    413,
    'RESOURCE_EXHAUSTED',
    'caller',
    'The body, or a part of it, is larger than allowed.',
    'The limit stands in `metadata.limit`.',
  ),
  CONTENT_TYPE_UNSUPPORTED: row(
    415,
    'INVALID_ARGUMENT',
    'caller',
    'The body is of a type that this route does not take.',
    'Send `Content-Type: application/json`.',
  ),
  HEADERS_TOO_LARGE: row(
    431,
    'RESOURCE_EXHAUSTED',
    'caller',
    'The request line and headers together are too large.',
    'Send fewer or shorter headers and a shorter address.',
  ),
  REQUEST_TOO_SLOW: row(
    408,
    'INVALID_ARGUMENT',
    'caller',
    'The request did not arrive in time.',
    'Send it again over a better line.',
    true,
  ),
  TOO_MANY_LOG_INS: row(
    429,
    'RESOURCE_EXHAUSTED',
    'caller',
    'Too many log-ins were tried for this user or from this address.',
    'Wait as long as `Retry-After` says.',
    true,
  ),
  OPERATION_CANCELLED: row(
    499,
    'CANCELLED',
    'caller',
    'Somebody cancelled the operation before it ended.',
    'Nothing to mend: ask for the work again if it is still wanted.',
  ),
  OPERATION_ABANDONED: row(
    500,
    'INTERNAL',
    'service',
    'The service died during this operation too often and gave it up.',
    'Look for its id in the log of the service; report it.',
  ),
  INTERNAL: row(
    500,
    'INTERNAL',
    'service',
    'A fault in the service.',
    'The log of the service has more under the request id.',
    true,
  ),
  STORAGE_UNAVAILABLE: row(
    503,
    'UNAVAILABLE',
    'service',
    'The service cannot write or read its data: disk full, disk fault, or database locked.',
    'Try again as `Retry-After` says; the operator sees the cause in the log.',
    true,
  ),
  NOT_READY: row(
    503,
    'UNAVAILABLE',
    'service',
    'A part of the service is not working yet, or any more.',
    '`metadata` names the part and its fault.',
    true,
  ),
  STOPPING: row(
    503,
    'UNAVAILABLE',
    'service',
    'The service is stopping and takes no further work.',
    'Try again as `Retry-After` says.',
    true,
  ),
} as const satisfies Record<string, Row>

export type Reason = keyof typeof PROBLEMS

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

/** The one kind of error that is meant for a caller. Everything else that is thrown is a fault of ours. */
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

export type ErrorDetail = Record<string, unknown> & { '@type': string }

const detailsOf = (problem: Problem): ErrorDetail[] => [
  { '@type': ERROR_INFO, reason: problem.reason, domain: 'headland', metadata: problem.metadata },
  ...(problem.fields.length > 0 ? [{ '@type': BAD_REQUEST, fieldViolations: problem.fields }] : []),
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

/**
 * Everything that can go wrong, as a closed table. The reason is what a program may branch on; the message is for people
 * and may change. `docs/reference/errors.md` is checked against this table.
 */
import { BUILD_PROBLEMS } from './build.ts'
import { ENVIRONMENT_PROBLEMS } from './environment.ts'
import { GIT_PROBLEMS } from './git.ts'
import { REPOSITORY_PROBLEMS } from './repository.ts'
import { REQUEST_PROBLEMS } from './request.ts'
import { type Fault, type Row, row } from './row.ts'
import { UPLOAD_PROBLEMS } from './upload.ts'

export { type Fault, STATUS_CODES, type Status } from './row.ts'

export const PROBLEMS = {
  ...REQUEST_PROBLEMS,
  ...UPLOAD_PROBLEMS,
  ...ENVIRONMENT_PROBLEMS,
  ...REPOSITORY_PROBLEMS,
  ...BUILD_PROBLEMS,
  ...GIT_PROBLEMS,
  ISOLATION_MISSING: row({
    http: 503,
    status: 'UNAVAILABLE',
    fault: 'service',
    meaning: 'This machine cannot keep builds of several accounts apart.',
    todo: 'The operator installs bubblewrap; `headland doctor` says how.',
  }),
  OPERATION_CANCELLED: row({
    http: 499,
    status: 'CANCELLED',
    fault: 'caller',
    meaning: 'The operation was cancelled before it ended.',
    todo: 'Nothing to mend: ask for the work again if it is still wanted.',
  }),
  OPERATION_ABANDONED: row({
    http: 500,
    status: 'INTERNAL',
    fault: 'service',
    meaning: 'The service died during this operation too often and gave it up.',
    todo: 'Look for its id in the log of the service; report it.',
  }),
  INTERNAL: row({
    http: 500,
    status: 'INTERNAL',
    fault: 'service',
    meaning: 'A fault in the service.',
    todo: 'The log of the service has more under the request id.',
    retryable: true,
  }),
  STORAGE_UNAVAILABLE: row({
    http: 503,
    status: 'UNAVAILABLE',
    fault: 'service',
    meaning: 'The service cannot write or read its data: disk full, disk fault, database locked, or object store away.',
    todo: 'Try again as `Retry-After` says; the operator sees the cause in the log.',
    retryable: true,
  }),
  NOT_READY: row({
    http: 503,
    status: 'UNAVAILABLE',
    fault: 'service',
    meaning: 'A part of the service is not working yet, or has failed.',
    todo: 'The message names the part; `metadata` has its fault.',
    retryable: true,
  }),
  STOPPING: row({
    http: 503,
    status: 'UNAVAILABLE',
    fault: 'service',
    meaning: 'The service is stopping and takes no further work.',
    todo: 'Try again as `Retry-After` says.',
    retryable: true,
  }),
} as const satisfies Record<string, Row>

export type Reason = keyof typeof PROBLEMS

/** The reasons why a build or a start can fail, in the order of its phases. Each has a page in `docs/troubleshooting/`. */
export const BUILD_FAILURES = [
  'PLAN_FAILED',
  'TOOL_NOT_AVAILABLE',
  'NODE_VERSION_WRONG',
  'INSTALL_FAILED',
  'LOCKFILE_MISMATCH',
  'CHECKSUM_MISMATCH',
  'DEPENDENCY_NOT_FOUND',
  'DEPENDENCY_CONFLICT',
  'REGISTRY_REFUSED',
  'REGISTRY_UNREACHABLE',
  'INSTALL_SCRIPT_FAILED',
  'NATIVE_PACKAGE_MISSING',
  'BUILD_SCRIPT_FAILED',
  'COMMAND_NOT_FOUND',
  'MODULE_NOT_FOUND',
  'SYNTAX_ERROR',
  'TYPE_ERROR',
  'LINT_ERROR',
  'CMS_UNREACHABLE',
  'DOWNLOAD_FAILED',
  'OUT_OF_MEMORY',
  'TOO_MANY_PROCESSES',
  'DISK_LIMIT',
  'DISK_FULL',
  'QUOTA_EXCEEDED',
  'BUILD_TIMEOUT',
  'NO_OUTPUT',
  'OUTPUT_TOO_LARGE',
  'IMAGE_REGISTRY_FAILED',
  'SUSPICIOUS_OUTPUT',
  'CHECK_FAILED',
  'START_CRASHED',
  'START_TIMEOUT',
  'PORT_NOT_BOUND',
] as const satisfies readonly Reason[]

const NETWORK_FAILURES: ReadonlySet<Reason> = new Set<Reason>([
  'CMS_UNREACHABLE',
  'DOWNLOAD_FAILED',
  'REGISTRY_UNREACHABLE',
  'TOOL_NOT_AVAILABLE',
])

const CAUSES: Record<Fault, string> = {
  app: 'The cause is in the app.',
  caller: 'The cause is in what was asked for.',
  service: 'The cause is in the service, not in the app.',
}

/** Where the cause of a failed build is, for people. */
export const causeOf = (reason: Reason): string =>
  NETWORK_FAILURES.has(reason)
    ? 'The cause is in the network or at the other end, not in the code of the app.'
    : CAUSES[PROBLEMS[reason].fault]

/** The page of the documentation about it, as a path under the address of the service. */
export const helpPage = (reason: Reason): string =>
  (BUILD_FAILURES as readonly Reason[]).includes(reason)
    ? `/docs/troubleshooting/${reason.toLowerCase().replaceAll('_', '-')}`
    : `/docs/reference/errors#${reason}`

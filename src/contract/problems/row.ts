/** The fields of each problem: how it is answered, who can mend it, and what to do. */

/** Canonical status names with the number that an operation's error carries (google.rpc.Code). */
export const STATUS_CODES = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
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

/** Who can mend it: the caller who sent the request, the authors of the app, or the operator of the service. */
export type Fault = 'caller' | 'app' | 'service'

export type Row = { http: number; status: Status; fault: Fault; retryable: boolean; meaning: string; todo: string }

/** A row of the table of problems. Not worth a retry unless it says so. */
export const row = (given: Omit<Row, 'retryable'> & { retryable?: true }): Row => ({ retryable: false, ...given })

import { isHelp } from '../help.ts'

/** An error of the API: the message and the reason are shown unchanged. */
export type Problem = {
  /** 0 when there was no response at all. */
  status: number
  /** A reason of the error reference, or `NO_ANSWER` when the service was not reached. */
  reason: string
  message: string
  /** The error of each field. */
  fields: Readonly<Record<string, string>>
  metadata: Readonly<Record<string, string>>
  retryAfterSeconds: number | undefined
  requestId: string | undefined
  /** The page of the documentation about it. */
  help?: string | undefined
}

export class CallFailed extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.message)
    this.name = 'CallFailed'
    this.problem = problem
  }
}

type Detail = {
  '@type'?: string
  reason?: string
  metadata?: Record<string, string>
  fieldViolations?: { field: string; description: string }[]
  links?: { url?: string }[]
}

/** The `error` of a reply or of an operation (AIP-193), or the response of a proxy in between. */
export function readProblem(
  status: number,
  body: unknown,
  { retryAfter, requestId }: { retryAfter?: string | null; requestId?: string | null } = {},
): Problem {
  const error = (body as { error?: { message?: string; details?: Detail[] } } | undefined)?.error
  const details = error?.details ?? []
  const info = details.find((detail) => detail['@type']?.endsWith('ErrorInfo'))
  const bad = details.find((detail) => detail['@type']?.endsWith('BadRequest'))
  const help = details.find((detail) => detail['@type']?.endsWith('Help'))?.links?.[0]?.url
  const seconds = Number(retryAfter)
  return {
    status,
    reason: info?.reason ?? `HTTP_${status}`,
    message: error?.message ?? `The service answered with ${status}.`,
    fields: Object.fromEntries((bad?.fieldViolations ?? []).map(({ field, description }) => [field, description])),
    metadata: info?.metadata ?? {},
    retryAfterSeconds: retryAfter && Number.isFinite(seconds) ? seconds : undefined,
    requestId: requestId ?? undefined,
    help: isHelp(help) ? help : undefined,
  }
}

export const noAnswer = (): Problem => ({
  status: 0,
  reason: 'NO_ANSWER',
  message: 'The service did not answer. Check the connection; what was asked for may or may not have happened.',
  fields: {},
  metadata: {},
  retryAfterSeconds: undefined,
  requestId: undefined,
})

/** Another user changed it after it was read. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof CallFailed && error.problem.reason === 'ETAG_MISMATCH'

/** Any thrown value, as a problem that can be shown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof CallFailed) return error.problem
  return { ...noAnswer(), reason: 'PORTAL_FAULT', message: error instanceof Error ? error.message : String(error) }
}

/** The error of a failed operation. */
export const operationProblem = (error: { message: string; details: unknown[] }): Problem => readProblem(0, { error })

/** What went wrong at a CA: its own words (RFC 8555, section 6.7), or that it could not be asked. */

/** The CA answered with a problem document, or an object of it holds one. */
export class AcmeProblem extends Error {
  /** As in `urn:ietf:params:acme:error:rateLimited`, without what they all begin with. */
  readonly type: string
  readonly detail: string
  readonly status: number
  /** The CA asks not to be asked again before. */
  readonly retryAfterMs: number | undefined

  constructor(document: unknown, status: number, retryAfterMs?: number) {
    const { type, detail } = wordsOf(document)
    super(detail ? `${type}: ${detail}` : type)
    this.name = 'AcmeProblem'
    this.type = type
    this.detail = detail
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** The CA could not be reached, or what came back is not ACME. */
export class CaUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CaUnreachable'
  }
}

const PREFIX = 'urn:ietf:params:acme:error:'
const TYPE_LENGTH = 100
const DETAIL_LENGTH = 1000

type Document = { type?: unknown; detail?: unknown; title?: unknown; subproblems?: unknown }

/** Only lines of text of a limited length: a CA is trusted for certificates, not for what a terminal shows. */
function wordsOf(document: unknown): { type: string; detail: string } {
  const { type, detail, title, subproblems } = (document ?? {}) as Document
  const kind = textOf(type, TYPE_LENGTH) || 'serverInternal'
  const parts = Array.isArray(subproblems) ? subproblems.slice(0, 5) : []
  const details = [detail ?? title, ...parts.map((part) => (part as Document | null)?.detail)]
  const text = [...new Set(details.map((each) => textOf(each, DETAIL_LENGTH)).filter(Boolean))].join(' ')
  return { type: kind.startsWith(PREFIX) ? kind.slice(PREFIX.length) : kind, detail: text.slice(0, DETAIL_LENGTH) }
}

const textOf = (value: unknown, length: number): string =>
  typeof value === 'string'
    ? value
        .slice(0, length)
        .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
        .trim()
    : ''

/** The Cache-Status field (RFC 9211). */

const CACHE = 'headland'

/** Why the app was asked: RFC 9211, section 2.2. */
export type ForwardReason = 'uri-miss' | 'vary-miss' | 'stale' | 'request' | 'method' | 'bypass' | 'partial'

/** It came from the store: `headland; hit; ttl=30`. */
export function hitStatus(ttlSeconds: number, detail?: string): string {
  return `${CACHE}; hit; ttl=${ttlSeconds}${toDetail(detail)}`
}

/** It is a file of a static deployment. */
export const FILE_STATUS = `${CACHE}; hit; detail=file`

/** It is a file of a deployment that was live earlier. */
export const EARLIER_FILE_STATUS = `${CACHE}; hit; detail=earlier-file`

/** The request was only-if-cached and nothing is stored, so the app was not asked. */
export const NOT_STORED_STATUS = `${CACHE}; detail=only-if-cached`

/** It came from the app: `headland; fwd=stale; fwd-status=304`. */
export function forwardStatus(forwarded: {
  why: ForwardReason
  /** The status of the app's response, where the client got another one. */
  status?: number | undefined
  stored?: boolean | undefined
  /** The response was fetched by another request. */
  collapsed?: boolean | undefined
  detail?: string | undefined
}): string {
  const { why, status, stored, collapsed, detail } = forwarded
  return `${CACHE}; fwd=${why}${status === undefined ? '' : `; fwd-status=${status}`}${stored ? '; stored' : ''}${collapsed ? '; collapsed' : ''}${toDetail(detail)}`
}

/** A token where possible, else a string: both as in RFC 8941, which allows ASCII only. */
function toDetail(detail: string | undefined): string {
  if (detail === undefined || detail === '') return ''
  if (TOKEN.test(detail)) return `; detail=${detail}`
  return `; detail="${detail.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
}

const TOKEN = /^[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*$/

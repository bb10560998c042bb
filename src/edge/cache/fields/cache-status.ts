/** What the cache says about a response: Cache-Status (RFC 9211). */

const CACHE = 'headland'

/** Why the app was asked: RFC 9211, section 2.2. */
export type ForwardReason = 'uri-miss' | 'vary-miss' | 'stale' | 'request' | 'method' | 'bypass' | 'partial'

/** It came from the store: `headland; hit; ttl=30`. */
export function hitStatus(ttlSeconds: number, detail?: string): string {
  return `${CACHE}; hit; ttl=${ttlSeconds}${toDetail(detail)}`
}

/** It is a file that a deployment without a process is made of. */
export const FILE_STATUS = `${CACHE}; hit; detail=file`

/** Only what is stored was asked for, and it is not: nobody else was asked. */
export const NOT_STORED_STATUS = `${CACHE}; detail=only-if-cached`

/** It came from the app: `headland; fwd=stale; fwd-status=304`. */
export function forwardStatus(forwarded: {
  why: ForwardReason
  /** What the app answered with, where the client was not given it. */
  status?: number | undefined
  stored?: boolean | undefined
  /** Others waited for the same answer. */
  collapsed?: boolean | undefined
  detail?: string | undefined
}): string {
  const { why, status, stored, collapsed, detail } = forwarded
  return `${CACHE}; fwd=${why}${status === undefined ? '' : `; fwd-status=${status}`}${stored ? '; stored' : ''}${collapsed ? '; collapsed' : ''}${toDetail(detail)}`
}

/** A token where it can be one, else a string: both as in RFC 8941, which has no room for other than ASCII. */
function toDetail(detail: string | undefined): string {
  if (detail === undefined || detail === '') return ''
  if (TOKEN.test(detail)) return `; detail=${detail}`
  return `; detail="${detail.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
}

const TOKEN = /^[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*$/

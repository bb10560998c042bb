/**
 * Whether a page that worked before works now. Pure. Bodies are compared by their length alone: what a page shows may differ
 * from one request to the next.
 *
 *   before            now                         verdict
 *   works             no answer, 4xx, 5xx         BROKEN
 *   works             redirects to itself         BROKEN
 *   is shown          redirects to a log-in       BROKEN
 *   is shown          redirects elsewhere         CHANGED
 *   redirects         redirects elsewhere         CHANGED; to a log-in where it did not: BROKEN
 *   HTML              another type                BROKEN
 *   a body            empty, or far shorter       BROKEN
 *   asks to log in    asks to log in              SAME
 *   asks to log in    is shown, or redirects      CHANGED: visitors without a log-in may see it
 *   does not work     does not work               FAILING
 *   does not work     works                       CHANGED
 *   not known         works / does not            SAME / FAILING
 */
import type { resources } from '../../contract/index.ts'
import type { Answer } from './answer.ts'

export type Verdict = { verdict: resources.PageVerdict; why?: string }

/** A body this short may differ by anything. */
const SHORT_BYTES = 512
/** A body is far shorter if less than this share of it is left. */
const FAR_SHORTER = 0.25
/** A body whose length differs by more than this share has changed. */
const CHANGED = 0.1

export function compare(path: string, before: Answer | undefined, after: Answer): Verdict {
  if (!before) return works(after) ? { verdict: 'SAME' } : { verdict: 'FAILING', why: inWords(after) }
  if (!works(before)) {
    if (works(after)) return { verdict: 'CHANGED', why: `It works now: ${inWords(after)}.` }
    return { verdict: 'FAILING', why: `It did not work before either: ${inWords(before)}, now ${inWords(after)}.` }
  }
  const broken = brokenBy(path, before, after)
  if (broken) return { verdict: 'BROKEN', why: broken }
  const changed = changeOf(before, after)
  return changed ? { verdict: 'CHANGED', why: changed } : { verdict: 'SAME' }
}

/** A page that asks for a log-in does what it should. One that is missing does not. */
const works = ({ status, end }: Answer): boolean =>
  status !== undefined && end !== 'BROKEN_OFF' && (status < 400 || asksForLogIn(status))

const asksForLogIn = (status: number | undefined): boolean => status === 401 || status === 403
const isRedirect = ({ status, location }: Answer): boolean =>
  status !== undefined && status >= 300 && status < 400 && location !== undefined

function brokenBy(path: string, before: Answer, after: Answer): string | undefined {
  const change = `It answered ${inWords(before)}, and now ${inWords(after)}.`
  if (!works(after)) return change
  if (asksForLogIn(after.status) && !asksForLogIn(before.status)) return change
  if (isRedirect(after)) {
    if (after.location === path && before.location !== path) return `It redirects to itself now (${after.status}).`
    const isNew = isLogIn(after.location) && !isLogIn(before.location) && !asksForLogIn(before.status)
    return isNew ? `It answered ${inWords(before)}, and now redirects to a log-in: ${after.location}.` : undefined
  }
  if (asksForLogIn(before.status) || isRedirect(before)) return undefined
  if (isHtml(before) && !isHtml(after) && after.bytes > 0)
    return `It was HTML, and is ${after.contentType ?? 'without a type'} now.`
  return shorterBody(before, after)
}

function shorterBody(before: Answer, after: Answer): string | undefined {
  if (after.end === 'TOO_SLOW') return before.end === 'TOO_SLOW' ? undefined : 'Its body does not end in time any more.'
  if (before.end === 'TOO_SLOW' || after.end === 'TOO_LONG') return undefined
  if (after.bytes === 0) return before.bytes > 0 ? `It is empty now; it had ${before.bytes} bytes.` : undefined
  if (before.bytes < SHORT_BYTES || after.bytes >= before.bytes * FAR_SHORTER) return undefined
  return `It has ${after.bytes} bytes; it had ${before.bytes}.`
}

function changeOf(before: Answer, after: Answer): string | undefined {
  if (before.status !== after.status || before.location !== after.location)
    return `It answered ${inWords(before)}, and now ${inWords(after)}.`
  if (before.contentType !== after.contentType)
    return `Its type was ${before.contentType ?? 'not given'}, and is ${after.contentType ?? 'not given'} now.`
  if (before.end !== 'WHOLE' || after.end !== 'WHOLE' || isRedirect(after)) return undefined
  const isOther = Math.abs(after.bytes - before.bytes) > Math.max(SHORT_BYTES, before.bytes * CHANGED)
  return isOther ? `It has ${after.bytes} bytes; it had ${before.bytes}.` : undefined
}

export const isHtml = ({ contentType }: Pick<Answer, 'contentType'>): boolean =>
  contentType === 'text/html' || contentType === 'application/xhtml+xml'

/** The names that log-in pages have in most frameworks. */
const LOG_IN = /(?:^|[/.])(?:log-?in|sign-?in|auth|sso|wp-login\.php)(?:[/?#]|$)/i

const isLogIn = (location: string | undefined): boolean => location !== undefined && LOG_IN.test(location)

/** 200, 302 to /login, no answer: it refused the connection. */
export function inWords({ status, location, problem }: Answer): string {
  if (status === undefined) return `not at all (${problem ?? 'no answer'})`
  return location === undefined ? String(status) : `${status} to ${location}`
}

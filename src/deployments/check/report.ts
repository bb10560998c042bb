/** The report of a check: as it is stored, within a limited size, and in words. Pure. */
import { secondsInWords } from '../../builds/index.ts'
import { Problem, type resources } from '../../contract/index.ts'
import { isSlower } from './speed.ts'

export type Report = resources.PromotionCheck

/** Of the stored text. */
export const MAX_REPORT_BYTES = 64 * 1024
const PAGES_IN_MESSAGE = 5
const PAGES_IN_LOG = 20

const ORDER: readonly resources.PageVerdict[] = ['BROKEN', 'FAILING', 'CHANGED', 'SAME']

/** The broken ones first. The others are in the order in which they are visited. */
export const sorted = (pages: readonly resources.CheckedPage[]): resources.CheckedPage[] =>
  pages.toSorted((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict))

/** As JSON. If it is too long, the last pages are left out. */
export function toText(report: Report): string {
  const sizes = report.pages.map((page) => Buffer.byteLength(JSON.stringify(page)) + 1)
  let bytes = Buffer.byteLength(JSON.stringify({ ...report, pages: [] }))
  const kept = report.pages.filter((_, index) => {
    bytes += sizes[index] ?? 0
    return bytes <= MAX_REPORT_BYTES
  })
  return JSON.stringify({ ...report, pages: kept, shortened: report.shortened || kept.length < report.pages.length })
}

/** Undefined for a text that is none: a row may be of a backup from elsewhere. */
export function fromText(text: string | null): Report | undefined {
  if (text === null) return undefined
  const read = JSON.parse(text) as Partial<Report> | null
  return read && Array.isArray(read.pages) && typeof read.outcome === 'string' ? (read as Report) : undefined
}

const brokenIn = ({ pages }: Report) => pages.filter(({ verdict }) => verdict === 'BROKEN')

/** What is wrong, in sentences for the build; none if all is well. */
export function warningsIn(report: Report): string[] {
  const broken = brokenIn(report)
  if (report.broken === 0) return slownessIn(report)
  const named = broken.slice(0, PAGES_IN_MESSAGE).map(({ path, why = '' }) => `${path}: ${why}`)
  const more = report.broken - named.length
  return [
    `${count(report.broken, 'page')} of ${report.checked} that were asked for worked before and ${report.broken === 1 ? 'does' : 'do'} not now.`,
    ...named,
    ...(more > 0 ? [`And ${more.toLocaleString('en')} more.`] : []),
    ...slownessIn(report),
  ]
}

function slownessIn({ before, after }: Report): string[] {
  if (!before || !after || !isSlower(before, after)) return []
  return [
    `Pages are slower: ${after.medianMilliseconds} ms (median), and ${before.medianMilliseconds} ms in the live version.`,
  ]
}

/** For the log of the build. */
export function linesOf(report: Report): string[] {
  const { checked, changed, broken, leftOut, before, after, seconds, skipped, logErrors } = report
  if (skipped !== undefined) return [`Its pages were not checked: ${skipped}`]
  const speeds = after
    ? ` They took ${after.medianMilliseconds} ms (median) and ${after.p95Milliseconds} ms (95th percentile)${before ? `; in the live version ${before.medianMilliseconds} ms and ${before.p95Milliseconds} ms` : ''}.`
    : ''
  const late = leftOut > 0 ? ` ${count(leftOut, 'page')} could not be checked in time.` : ''
  const failing = report.pages.filter(({ verdict }) => verdict === 'FAILING').length
  const named = report.pages.filter(({ verdict }) => verdict !== 'SAME').slice(0, PAGES_IN_LOG)
  return [
    `Checked ${count(checked, 'page')} in ${secondsInWords(seconds * 1000)}: ${broken} broken, ${changed} changed${failing > 0 ? `, ${failing} that did not work before` : ''}.${speeds}${late}`,
    ...named.map(({ path, verdict, why = '' }) => `${WORDS[verdict]}: ${path}: ${why}`),
    ...(logErrors && logErrors.count > 0
      ? [`Meanwhile ${count(logErrors.count, 'error')} in the log of the app, such as: ${logErrors.lines[0]}`]
      : []),
    ...slownessIn(report).map((sentence) => `Warning: ${sentence}`),
  ]
}

const WORDS: Record<resources.PageVerdict, string> = {
  BROKEN: 'Broken',
  FAILING: 'Does not work',
  CHANGED: 'Changed',
  SAME: 'Same',
}

const count = (number: number, what: string): string =>
  `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`

export function checkFailed(report: Report, deploymentId: string): Problem {
  const message = `${warningsIn(report).join(' ')} ${heldAdvice(report, deploymentId)}`
  const paths = brokenIn(report).map(({ path }) => path)
  return new Problem('CHECK_FAILED', message, {
    metadata: {
      deployment: deploymentId,
      brokenPages: String(report.broken),
      pages: paths.slice(0, PAGES_IN_MESSAGE).join(', '),
    },
  })
}

const HELD = 'The deployment is held, and visitors still get the live one.'

export const heldAdvice = (report: Report, deploymentId: string): string => `${HELD} ${adviceOn(report, deploymentId)}`

/** A page that is gone may have been removed on purpose. */
function adviceOn(report: Report, deploymentId: string): string {
  const isGone = brokenIn(report).some(({ after }) => after.status === 404 || after.status === 410)
  const removed = isGone ? 'If a page was removed on purpose, redirect its address, or ' : 'If this is right, '
  return `${removed}make it live all the same: headland deployments activate ${deploymentId}, or Make live in the portal. headland deploy --force skips the hold.`
}

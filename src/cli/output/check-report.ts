/** The check of a deployment's pages, in words. What pages are called and answer comes from apps, so it is printed with care. */
import type { PageAnswer, PageSpeed, PromotionCheck } from '../../client/index.ts'
import type { Row } from './rows.ts'
import { oneLine } from './rows.ts'

type Check = PromotionCheck

const OUTCOMES: Record<Check['outcome'], string> = {
  PASSED: 'no broken page',
  WARNED: 'broken pages, and live all the same',
  HELD: 'held: broken pages',
  FORCED: 'broken pages, and forced to go live',
  SKIPPED: 'not checked',
}

const COMPARED = {
  LIVE: 'beside the live version',
  RECORD: "with the live version's own check, as it was asleep",
  NOTHING: 'with nothing, as none was live',
} as const

export const checkFacts = (check: Check) => ({
  check: OUTCOMES[check.outcome] ?? oneLine(check.outcome),
  'not checked': check.skipped && oneLine(check.skipped),
  mode: check.mode.toLowerCase(),
  pages: `${check.checked} checked, ${check.changed} changed, ${check.broken} broken${check.leftOut > 0 ? `, ${check.leftOut} not reached in time` : ''}`,
  compared: check.comparedWith && COMPARED[check.comparedWith],
  before: check.before && speedInWords(check.before),
  after: check.after && speedInWords(check.after),
  'log errors': check.logErrors && `${check.logErrors.count}: ${oneLine(check.logErrors.lines[0] ?? '')}`,
})

const speedInWords = ({ medianMilliseconds, p95Milliseconds }: PageSpeed): string =>
  `median ${medianMilliseconds} ms, 95th percentile ${p95Milliseconds} ms`

/** Of pages that differ; those that are the same are left out. */
export const checkRows = ({ pages }: Check): Row[] =>
  pages
    .filter(({ verdict }) => verdict !== 'SAME')
    .map(({ path, verdict, why = '', before, after }) => ({
      page: oneLine(path),
      verdict,
      before: before ? answerInWords(before) : '',
      after: answerInWords(after),
      why: oneLine(why),
    }))

const answerInWords = ({ status, milliseconds }: PageAnswer): string =>
  status === undefined ? 'no answer' : `${status}, ${milliseconds} ms`

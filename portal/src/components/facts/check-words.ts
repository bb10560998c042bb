/** The check of a deployment's pages, in words. */
import type { Shown } from '../../api/live/state.ts'
import type { Deployment } from '../../api/types.ts'

type Check = NonNullable<Deployment['check']>
type CheckedPage = Check['pages'][number]

export const OUTCOMES: Record<Check['outcome'], Shown> = {
  PASSED: { tone: 'good', word: 'No broken page' },
  WARNED: { tone: 'warn', word: 'Broken pages, live all the same' },
  HELD: { tone: 'warn', word: 'Held: broken pages' },
  FORCED: { tone: 'warn', word: 'Broken pages, forced to go live' },
  SKIPPED: { tone: 'idle', word: 'Not checked' },
}

export const VERDICTS: Record<CheckedPage['verdict'], Shown> = {
  BROKEN: { tone: 'bad', word: 'Broken' },
  FAILING: { tone: 'warn', word: 'Does not work' },
  CHANGED: { tone: 'busy', word: 'Changed' },
  SAME: { tone: 'good', word: 'Same' },
}

export const COMPARED: Record<NonNullable<Check['comparedWith']>, string> = {
  LIVE: 'beside the live version',
  RECORD: 'with the check of the live version, which slept',
  NOTHING: 'with nothing: none was live',
}

export function pagesInWords({ checked, changed, broken, leftOut }: Check): string {
  const late = leftOut > 0 ? `, ${leftOut} not reached in time` : ''
  return `${checked} checked, ${changed} changed, ${broken} broken${late}`
}

export const speedInWords = ({ medianMilliseconds, p95Milliseconds }: NonNullable<Check['after']>): string =>
  `${medianMilliseconds} ms (median), ${p95Milliseconds} ms (95th percentile)`

export const answerInWords = ({ status, milliseconds }: CheckedPage['after']): string =>
  status === undefined ? 'no answer' : `${status}, ${milliseconds} ms`

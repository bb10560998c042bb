/** The check of a new version before visitors get it: when it is made, and what a deployment shows of it. */
import { array, boolean, integer, number, object, oneOf, optional, type Static, string, time } from '../../schema.ts'

export const PROMOTION_CHECK_MODES = ['AUTO', 'BLOCK', 'WARN', 'OFF'] as const
export type PromotionCheckMode = (typeof PROMOTION_CHECK_MODES)[number]

const mode = oneOf(PROMOTION_CHECK_MODES, {
  description:
    'BLOCK: a version with a broken page is held. WARN: it goes live with warnings. OFF: no page is asked for. AUTO: WARN in the first 30 days of the environment, BLOCK afterwards.',
})

export const PROMOTION_CHECK_LIMITS = { pages: { min: 1, max: 200 }, timeoutSeconds: { min: 5, max: 600 } } as const
const { pages: PAGES, timeoutSeconds: SECONDS } = PROMOTION_CHECK_LIMITS

const pages = integer({
  minimum: PAGES.min,
  maximum: PAGES.max,
  description: 'How many pages are asked for, the most visited first.',
})
const timeoutSeconds = integer({
  minimum: SECONDS.min,
  maximum: SECONDS.max,
  description: 'How long the whole check may take. Pages that were not reached by then are left out.',
})

/** A field that is left out has its default. */
export const changedPromotionChecks = object(
  { mode: optional(mode), pages: optional(pages), timeoutSeconds: optional(timeoutSeconds) },
  { title: 'ChangedPromotionChecks', description: 'A field that is left out gets its default: AUTO, 50, 60.' },
)
export type ChangedPromotionChecks = Static<typeof changedPromotionChecks>

export const promotionChecks = object(
  {
    mode,
    pages,
    timeoutSeconds,
    effectiveMode: oneOf(['BLOCK', 'WARN', 'OFF'], { description: 'What AUTO means now; else the mode.' }),
  },
  {
    title: 'PromotionChecks',
    description: 'What is asked of a new version before visitors get it, and what a broken page does.',
  },
)

/** As it is stored. */
export type PromotionChecks = { mode: PromotionCheckMode; pages: number; timeoutSeconds: number }
export type EffectiveMode = Exclude<PromotionCheckMode, 'AUTO'>

export const DEFAULT_PROMOTION_CHECKS: PromotionChecks = { mode: 'AUTO', pages: 50, timeoutSeconds: 60 }

const FIRST_MS = 30 * 24 * 60 * 60_000

export function effectiveMode({ mode }: Pick<PromotionChecks, 'mode'>, createTime: number, now: number): EffectiveMode {
  if (mode !== 'AUTO') return mode
  return now - createTime < FIRST_MS ? 'WARN' : 'BLOCK'
}

/** A row may be of a backup from elsewhere: what is out of bounds becomes the default. */
export function readPromotionChecks(text: string | null): PromotionChecks {
  const given = text === null ? {} : (JSON.parse(text) as Partial<PromotionChecks> | null)
  const { mode, pages, timeoutSeconds } = DEFAULT_PROMOTION_CHECKS
  const isIn = (value: unknown, { min, max }: { min: number; max: number }): value is number =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
  return {
    mode: PROMOTION_CHECK_MODES.find((known) => known === given?.mode) ?? mode,
    pages: isIn(given?.pages, PAGES) ? given.pages : pages,
    timeoutSeconds: isIn(given?.timeoutSeconds, SECONDS) ? given.timeoutSeconds : timeoutSeconds,
  }
}

export const CHECK_OUTCOMES = ['PASSED', 'WARNED', 'HELD', 'FORCED', 'SKIPPED'] as const
export const PAGE_VERDICTS = ['SAME', 'CHANGED', 'BROKEN', 'FAILING'] as const
export type PageVerdict = (typeof PAGE_VERDICTS)[number]

const pageAnswer = object(
  {
    status: optional(integer({ description: 'Absent where no answer came.' })),
    contentType: optional(string()),
    location: optional(string({ description: 'Where it redirects to; on its own host, the path alone.' })),
    bytes: optional(integer({ description: 'Of the body, as far as it was read.' })),
    milliseconds: integer({ description: 'Until the whole body was there.' }),
    problem: optional(string({ description: 'Why there is no answer, or no whole one, in words.' })),
  },
  { title: 'PageAnswer' },
)
export type PageAnswer = Static<typeof pageAnswer>

const checkedPage = object(
  {
    path: string(),
    verdict: oneOf(PAGE_VERDICTS, {
      description:
        'BROKEN: it worked before and does not now. CHANGED: it works and differs visibly. FAILING: it does not work, and did not before, or there is nothing to compare with.',
    }),
    why: optional(string({ description: 'What differs, in words.' })),
    before: optional({ ...pageAnswer, description: 'Of the live version; absent where that was not asked.' }),
    after: pageAnswer,
    missingAssets: optional(
      array(string(), { description: 'Files of its own host that it loads and that are not there.' }),
    ),
  },
  { title: 'CheckedPage' },
)
export type CheckedPage = Static<typeof checkedPage>

const speed = object(
  { medianMilliseconds: number(), p95Milliseconds: number() },
  { title: 'PageSpeed', description: 'How long the pages took that both versions answered.' },
)
export type PageSpeed = Static<typeof speed>

/** On a deployment. */
export const promotionCheck = object(
  {
    outcome: oneOf(CHECK_OUTCOMES, {
      description:
        'WARNED: broken pages, and live all the same. HELD: broken pages, so it was not made live. FORCED: broken pages, and a user had asked for it to go live in any case. SKIPPED: `skipped` says why.',
    }),
    mode: oneOf(['BLOCK', 'WARN', 'OFF'], { description: 'What a broken page did then.' }),
    skipped: optional(string({ description: 'Why nothing was asked for.' })),
    pagesFrom: optional(
      oneOf(['VISITS', 'SITE'], { description: 'SITE: the sitemap and the links of the first page.' }),
    ),
    comparedWith: optional(
      oneOf(['LIVE', 'RECORD', 'NOTHING'], {
        description: 'RECORD: the live version sleeps, so its own check is compared with.',
      }),
    ),
    checked: integer({ description: 'Pages that were asked for.' }),
    changed: integer(),
    broken: integer(),
    leftOut: integer({ description: 'Pages that were not reached in time.' }),
    before: optional(speed),
    after: optional(speed),
    logErrors: optional(
      object(
        { count: integer(), lines: array(string(), { description: 'The first of them.' }) },
        { title: 'LogErrors', description: "Errors that were written to the app's log during the check." },
      ),
    ),
    pages: array(checkedPage, { description: 'Broken ones first. Where they are too many, others are left out.' }),
    shortened: boolean({ description: 'Whether pages are missing in the list.' }),
    startTime: time('When it began.'),
    seconds: number({ description: 'How long it took.' }),
  },
  { title: 'PromotionCheck', description: 'What was found before it went live, page by page.' },
)
export type PromotionCheck = Static<typeof promotionCheck>

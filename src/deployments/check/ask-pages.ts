/**
 * Asks both versions for the pages, side by side, a few at a time. A page that seems broken is asked for again: one that works
 * at times, or that differs from one request to the next, is not taken for broken.
 */
import { type Answer, type Ask, shownAnswer } from './answer.ts'
import { compare, isHtml, type Verdict } from './compare.ts'
import { type Asset, linksIn } from './links.ts'
import type { Site } from './versions.ts'

/** Of each version. */
const AT_ONCE = 4
const MAX_TRIES = 3
/** A version that does not answer is not waited for as often. */
const MAX_SLOW_TRIES = 2
const MAX_ASSETS = 200
const MAX_NAMED_ASSETS = 5
const MAX_ASSET_LENGTH = 200

export type PageResult = Verdict & {
  path: string
  before: Answer | undefined
  after: Answer
  /** What it loads from its own host, and what the live version's page does; undefined where that was not read. */
  assets: Asset[]
  knownAssets: ReadonlySet<string> | undefined
  missingAssets?: string[]
}

type Asking = {
  site: Site
  next: Ask
  /** What is known of the live version; undefined where nothing is. */
  before: (path: string, options: { isHead?: boolean }) => Promise<Answer | undefined>
  /** Ends the check; pages that were not finished by then are left out. */
  over: AbortSignal
  timeoutMs: number
}

export async function askPages(paths: readonly string[], asking: Asking): Promise<PageResult[]> {
  const results = await inTurns(paths, asking.over, (path) => askPage(path, asking))
  await lookForAssets(results, asking)
  return results
}

async function askPage(path: string, asking: Asking): Promise<PageResult | undefined> {
  const { next, before, over, timeoutMs, site } = asking
  const options = { signal: over, timeoutMs }
  for (let tries = 1; ; tries++) {
    const [known, after] = await Promise.all([before(path, {}), next(path, options)])
    if (!after) return undefined
    const found: PageResult = {
      path,
      before: known && withoutText(known),
      after: withoutText(after),
      assets: assetsOf(path, after, site),
      knownAssets: known?.text === undefined ? undefined : new Set(assetsOf(path, known, site).map((one) => one.path)),
      ...compare(path, known, after),
    }
    const isSlow = after.milliseconds >= timeoutMs
    if (found.verdict === 'BROKEN' && tries < (isSlow ? MAX_SLOW_TRIES : MAX_TRIES)) continue
    if (found.verdict === 'BROKEN' || !known || !isMuchSlower(known, after)) return found
    // The first request may have loaded what later ones use.
    const again = await next(path, options)
    const isFaster = again !== undefined && again.status === after.status && again.milliseconds < after.milliseconds
    return isFaster ? { ...found, after: { ...found.after, milliseconds: again.milliseconds } } : found
  }
}

/** Bodies are not kept: those of many pages would take much memory. */
const withoutText = (answer: Answer): Answer => ({ ...answer, text: undefined })

const isMuchSlower = (before: Answer, after: Answer): boolean => after.milliseconds > before.milliseconds * 2 + 20

/** A page that loads a file which is not there is broken, unless it is the same with the live version. */
async function lookForAssets(results: readonly PageResult[], asking: Asking) {
  const wanted = new Map<string, Asset>()
  for (const { assets } of results)
    for (const asset of assets) if (wanted.size < MAX_ASSETS || wanted.has(asset.path)) wanted.set(asset.path, asset)
  const missing = new Set<string>()
  await inTurns([...wanted.keys()], asking.over, async (path) => {
    if (await isMissing(path, asking)) missing.add(path)
    return undefined
  })
  for (const found of results) {
    const gone = found.assets.filter(({ path }) => missing.has(path))
    if (gone.length > 0) await judge(found, gone, asking)
  }
}

const assetsOf = (path: string, answer: Answer, { hosts }: Site): Asset[] =>
  answer.text !== undefined && isHtml(answer) ? linksIn(answer.text, { path, hosts }).assets : []

async function isMissing(path: string, { next, over, timeoutMs }: Asking): Promise<boolean> {
  const answer = await next(path, { signal: over, timeoutMs, isHead: true })
  return answer !== undefined && (answer.status === undefined || answer.status >= 400)
}

/** A file that the live version's page loads too, and that is missing there too, is nothing new. */
async function judge(found: PageResult, gone: readonly Asset[], asking: Asking) {
  const { knownAssets } = found
  const isNew = async ({ path }: Asset): Promise<boolean> => {
    if (!found.before) return true
    if (!knownAssets?.has(path)) return knownAssets !== undefined
    const { status } = (await asking.before(path, { isHead: true })) ?? {}
    return status !== undefined && status < 400
  }
  const lost: Asset[] = []
  for (const asset of gone) if (!asking.over.aborted && (await isNew(asset).catch(() => false))) lost.push(asset)
  if (lost.length === 0) return
  const names = lost.map(({ path }) => path.slice(0, MAX_ASSET_LENGTH)).slice(0, MAX_NAMED_ASSETS)
  found.missingAssets = names
  const isNeeded = lost.some((asset) => asset.isNeeded)
  if (found.verdict === 'BROKEN' || (!found.before && !isNeeded)) return
  found.verdict = !found.before ? 'FAILING' : isNeeded ? 'BROKEN' : 'CHANGED'
  found.why = `It loads what is not there: ${names.join(', ')}.`
}

/** The results in the order of the items, without those that are undefined or were not reached in time. */
async function inTurns<T, R>(
  items: readonly T[],
  over: AbortSignal,
  work: (item: T) => Promise<R | undefined>,
): Promise<R[]> {
  const results: (R | undefined)[] = []
  const left = items.entries()
  async function go() {
    for (const [index, item] of left) {
      if (over.aborted) return
      results[index] = await work(item).catch((error) => {
        if (over.aborted) return undefined
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, go))
  return results.filter((result) => result !== undefined)
}

/** As it is stored and shown. */
export const shownPage = ({ path, verdict, why, before, after, missingAssets }: PageResult) => ({
  path,
  verdict,
  ...(why === undefined ? {} : { why }),
  ...(before ? { before: shownAnswer(before) } : {}),
  after: shownAnswer(after),
  ...(missingAssets ? { missingAssets } : {}),
})

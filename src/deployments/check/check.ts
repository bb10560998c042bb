/**
 * Checked promotion: before visitors get a new version, it is asked for the pages that they ask for, beside the live one. A page
 * that worked before and does not now holds the version, or is a warning. The live version is neither changed nor woken.
 */
import type { Environment, Environments } from '../../apps/index.ts'
import { type Clock, type Log, toRfc3339 } from '../../base/index.ts'
import type { Build, Builds } from '../../builds/index.ts'
import { checkingText, resources } from '../../contract/index.ts'
import { isDatabaseAway, type LineLogs, type Sql } from '../../storage/index.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Deployment } from '../records/rows.ts'
import { type Answer, type Ask, recordedAnswer } from './answer.ts'
import { askPages, type PageResult, shownPage } from './ask-pages.ts'
import { findPages } from './find-pages.ts'
import { errorsSince } from './log-errors.ts'
import { choosePages } from './pages.ts'
import { fromText, linesOf, type Report, sorted, toText, warningsIn } from './report.ts'
import { speedOf } from './speed.ts'
import { createVersions, type Site, type VersionParts } from './versions.ts'

type Parts = VersionParts & {
  sql: Sql
  clock: Clock
  log: Log
  environments: Pick<Environments, 'byId'>
  builds: Pick<Builds, 'require'>
  deployments: Pick<Deployments, 'find' | 'checkTextOf' | 'setCheckText'>
  logs: Pick<LineLogs, 'lastNumber' | 'pieces'>
  logNameOf(environmentId: string): string
  /** The paths of the environment that visitors ask for most, of the last day; the most visited first. */
  mostVisited(environmentId: string): Promise<string[]>
  /** Whether apps may run where this process does not reach them. */
  mayBeApart: boolean
}

export type CheckOptions = {
  signal: AbortSignal
  say(text: string): void
  /** It goes live, whatever is found. */
  isForced: boolean
}

export type Checked = {
  report: Report
  isToBeHeld: boolean
  /** Sentences for the build; none if all is well. */
  warnings: string[]
}

/** What is known of the live version. */
type Live = { with: NonNullable<Report['comparedWith']>; ask: Ask | undefined; record: ReadonlyMap<string, Answer> }

/** Of one page, as a share of the whole time, within bounds. */
const PAGE_SHARE = 6
const PAGE_MS = { min: 1000, max: 10_000 }

export function createCheck(parts: Parts) {
  const { sql, clock, environments, builds, deployments, logs, logNameOf } = parts
  const versions = createVersions(parts)

  async function liveOf(environment: Environment, site: Site): Promise<Live> {
    const id = (await environments.byId(sql, environment.id))?.liveDeployment
    const deployment = id ? await deployments.find(sql, id) : undefined
    if (!deployment) return { with: 'NOTHING', ask: undefined, record: new Map() }
    const path = { accountId: environment.accountId, environmentId: environment.id }
    const build = await builds.require(path, deployment.buildId)
    const ask = await versions.asker(deployment.id, build, site)
    if (ask) return { with: 'LIVE', ask, record: new Map() }
    const { pages = [] } = fromText(await deployments.checkTextOf(deployment.id)) ?? {}
    const record = new Map(pages.map(({ path, after }) => [path, recordedAnswer(after)]))
    return { with: record.size > 0 ? 'RECORD' : 'NOTHING', ask, record }
  }

  type Asked = { site: Site; next: Ask; live: Live; over: AbortSignal; timeoutMs: number }

  async function pagesOf(environment: Environment, { site, next, live, over, timeoutMs }: Asked) {
    const { pages: max } = environment.promotionChecks
    const isFirst = live.with === 'NOTHING' && environment.liveDeployment === null
    const visited = isFirst ? [] : choosePages(await parts.mostVisited(environment.id), max)
    if (visited.length > 1) return { pagesFrom: 'VISITS', paths: visited } as const
    const options = { signal: over, timeoutMs }
    const [known, own] = await Promise.all([
      live.ask ? findPages(live.ask, site, options) : [...live.record.keys()],
      findPages(next, site, options),
    ])
    return { pagesFrom: 'SITE', paths: choosePages([...visited, ...known, ...own], max) } as const
  }

  /** Where apps run elsewhere, an address that cannot be reached from here says nothing about the app. */
  async function isReached(next: Ask, options: { signal: AbortSignal; timeoutMs: number }): Promise<boolean> {
    return !parts.mayBeApart || (await next('/', { ...options, isHead: true }))?.status !== undefined
  }

  async function examine(environment: Environment, deployment: Deployment, build: Build, options: CheckOptions) {
    const { promotionChecks: limits } = environment
    const mode = resources.effectiveMode(limits, environment.createTime, clock.now())
    const [startTime, began] = [toRfc3339(clock.now()), performance.now()]
    const passed = () => Math.round(performance.now() - began) / 1000
    const skip = (skipped: string): Report => skippedBy(skipped, environment, clock.now())
    const site = await versions.siteOf(environment)
    if (!site) return skip('The environment has no address yet.')
    await versions.untilReported(deployment.id, build, options.signal)
    const next = await versions.asker(deployment.id, build, site)
    if (!next) return skip('The new version could not be asked from here.')
    const over = AbortSignal.any([options.signal, AbortSignal.timeout(limits.timeoutSeconds * 1000)])
    const share = (limits.timeoutSeconds * 1000) / PAGE_SHARE
    const timeoutMs = Math.min(Math.max(share, PAGE_MS.min), PAGE_MS.max)
    if (!(await isReached(next, { signal: over, timeoutMs })))
      return skip('The app runs on another machine, whose address cannot be reached from here.')
    const logName = logNameOf(environment.id)
    const lastLine = await logs.lastNumber(logName)
    const live = await liveOf(environment, site)
    const asked = { site, next, live, over, timeoutMs }
    const { pagesFrom, paths } = await pagesOf(environment, asked)
    options.say(checkingText(paths.length, COMPARED[live.with]))
    const before = (path: string, { isHead = false } = {}) =>
      live.ask?.(path, { signal: over, timeoutMs, isHead }) ?? Promise.resolve(live.record.get(path))
    const results = await askPages(paths, { ...asked, before })
    const logErrors = await errorsSince(logs, logName, lastLine)
    const broken = results.filter(({ verdict }) => verdict === 'BROKEN').length
    // Nothing wakes it before it is live: what it did not answer then says nothing about it.
    if (broken > 0 && parts.instances.of(deployment.id)?.state === 'ASLEEP')
      return skip('The app was put to sleep meanwhile.')
    const outcome = broken === 0 ? 'PASSED' : options.isForced ? 'FORCED' : mode === 'BLOCK' ? 'HELD' : 'WARNED'
    const report: Report = {
      outcome,
      mode,
      pagesFrom,
      comparedWith: live.with,
      checked: results.length,
      changed: results.filter(({ verdict }) => verdict === 'CHANGED').length,
      broken,
      leftOut: paths.length - results.length,
      ...speedsOf(results, live.with === 'LIVE'),
      ...(logErrors.count > 0 ? { logErrors } : {}),
      pages: sorted(results.map(shownPage)),
      shortened: false,
      startTime,
      seconds: passed(),
    }
    return report
  }

  /** Undefined if it is switched off, or the deployment is live already. */
  return async function check(
    environment: Environment,
    deployment: Deployment,
    build: Build,
    options: CheckOptions,
  ): Promise<Checked | undefined> {
    if (environment.promotionChecks.mode === 'OFF' || environment.liveDeployment === deployment.id) return undefined
    const report = await examine(environment, deployment, build, options).catch((error) => {
      options.signal.throwIfAborted()
      if (isDatabaseAway(error)) throw error
      if (error instanceof DOMException && error.name === 'TimeoutError')
        return skippedBy('Its pages could not be found in time.', environment, clock.now())
      parts.log.error({ err: error, deployment: deployment.id }, 'the pages of a new version could not be checked')
      return skippedBy('The service could not check it.', environment, clock.now())
    })
    await deployments.setCheckText(deployment.id, toText(report))
    for (const line of linesOf(report)) options.say(line)
    return { report, isToBeHeld: report.outcome === 'HELD', warnings: warningsIn(report) }
  }
}

export type Check = ReturnType<typeof createCheck>

const COMPARED: Record<Live['with'], string> = {
  LIVE: 'beside the live version',
  RECORD: 'against the record of the live version, which sleeps',
  NOTHING: 'without a live version to compare with',
}

const skippedBy = (skipped: string, { promotionChecks, createTime }: Environment, now: number): Report => ({
  outcome: 'SKIPPED',
  mode: resources.effectiveMode(promotionChecks, createTime, now),
  skipped,
  checked: 0,
  changed: 0,
  broken: 0,
  leftOut: 0,
  pages: [],
  shortened: false,
  startTime: toRfc3339(now),
  seconds: 0,
})

/** Of pages that both have answered, so that the two can be compared; of all pages where there is nothing to compare with. */
function speedsOf(results: readonly PageResult[], isCompared: boolean): Pick<Report, 'before' | 'after'> {
  const isAnswered = (answer: Answer | undefined) => answer?.status !== undefined && answer.status < 400
  const timed = results.filter(({ before, after }) => isAnswered(after) && (!isCompared || isAnswered(before)))
  const before = isCompared ? speedOf(timed.map((page) => page.before?.milliseconds ?? 0)) : undefined
  const after = speedOf(timed.map((page) => page.after.milliseconds))
  return { ...(before ? { before } : {}), ...(after ? { after } : {}) }
}

/** Apps that crash again and again: pure, but for what it remembers of restarts. */
import { names, type resources } from '../contract/index.ts'
import { type Condition, isOpen, type OpenCondition } from './condition.ts'

/** One that answered for so long without a restart is stable again: longer than the supervisor counts crashes in a row. */
const STABLE_MS = 2 * 60_000

export type LiveApp = {
  environmentId: string
  accountId: string
  accountName: string
  appName: string
  /** The displayName of the environment. */
  environment: string
  deployment: string
  /** Undefined where it has no process, as a static site. */
  status: { state: resources.InstanceState; restarts: number } | undefined
  /** Empty while it has no address. */
  siteUrl: string
}

export function createCrashLoops() {
  /** Since when an app of an open condition has answered, by its deployment. */
  const answering = new Map<string, { since: number; restarts: number }>()

  function isStable(deployment: string, { state, restarts }: NonNullable<LiveApp['status']>, now: number): boolean {
    const before = answering.get(deployment)
    if (state !== 'RUNNING') answering.delete(deployment)
    else if (before?.restarts !== restarts) answering.set(deployment, { since: now, restarts })
    else return now - before.since >= STABLE_MS
    return false
  }

  return {
    /** `apps`: all that are live. What is not among them is over. */
    conditions(apps: readonly LiveApp[], open: readonly OpenCondition[], now: number): Condition[] {
      const live = new Set(apps.map(({ deployment }) => deployment))
      for (const deployment of answering.keys()) if (!live.has(deployment)) answering.delete(deployment)
      return apps.flatMap((app) => {
        const { deployment, status, accountId } = app
        if (!status) return []
        const wasOpen = isOpen(open, accountId, keyOf(deployment))
        const isLooping = status.state === 'CRASH_LOOP'
        if (wasOpen ? isStable(deployment, status, now) : !isLooping) {
          answering.delete(deployment)
          return []
        }
        return toCondition(app)
      })
    },
  }
}

const keyOf = (deployment: string): string => `APP_CRASH_LOOP/${deployment}`

function toCondition(app: LiveApp): Condition {
  const { accountId, accountName, appName, environmentId, environment, siteUrl } = app
  const at = { account: accountName, app: appName, environment: environmentId }
  const lines = [
    'The app crashes again and again after it was started. It is started again with pauses of up to a minute; until it stays up, visitors get an error page or what the cache has stored.',
    `Restarts: ${app.status?.restarts ?? 0}`,
    ...(siteUrl === '' ? [] : [`Site: ${siteUrl}`]),
  ]
  return {
    kind: 'APP_CRASH_LOOP',
    accountId,
    key: keyOf(app.deployment),
    appName,
    environmentId,
    resource: names.environmentResource(at),
    title: `App in a crash loop: ${appName} / ${environment}`,
    text: lines.join('\n'),
    page: `/${accountName}/apps/${appName}/environments/${environmentId}/logs`,
  }
}

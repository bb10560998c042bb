/**
 * Badges of environments. Anyone may ask, as often as they like: a badge is looked up at most once in a few seconds, also one
 * that is not there, and what one network makes the service look up is limited.
 */
import { hash } from 'node:crypto'
import type { Accounts } from '../accounts/index.ts'
import type { Environments } from '../apps/index.ts'
import { type Clock, createBuckets } from '../base/index.ts'
import type { Builds } from '../builds/index.ts'
import { names, Problem, type resources } from '../contract/index.ts'
import type { Deployments } from '../deployments/index.ts'
import { clientNetwork } from '../http/index.ts'
import { drawBadge } from './svg.ts'

export type Badge = { svg: string; etag: string }
type Known = Badge & { account: string; app: string }

type Parts = {
  clock: Pick<Clock, 'now'>
  accounts: Pick<Accounts, 'namesOf'>
  environments: Pick<Environments, 'withBadge'>
  builds: Pick<Builds, 'latestOf'>
  deployments: Pick<Deployments, 'heldOf'>
}

const FRESH_MS = 2_000
const MAX_KEPT = 2_000
const LOOK_UPS = { atOnce: 300, perSecond: 5 }

export function createBadges({ clock, accounts, environments, builds, deployments }: Parts) {
  const kept = new Map<string, { until: number; badge: Promise<Known | undefined> }>()
  const lookUps = createBuckets(clock)

  async function lookUp(id: string): Promise<Known | undefined> {
    const environment = await environments.withBadge(id)
    if (!environment) return undefined
    const [owners, latest, held] = await Promise.all([
      accounts.namesOf([environment.accountId]),
      builds.latestOf([id]),
      deployments.heldOf([id]),
    ])
    const state = badgeState(environment.state, latest.get(id)?.state, held.has(id))
    const svg = drawBadge(environment.displayName, state)
    const account = owners.get(environment.accountId) ?? ''
    return { svg, etag: `"${hash('sha256', svg, 'base64url').slice(0, 22)}"`, account, app: environment.appName }
  }

  function fresh(id: string, address: string): Promise<Known | undefined> {
    const now = clock.now()
    const found = kept.get(id)
    if (found && found.until > now) return found.badge
    const waitMs = lookUps.take(clientNetwork(address), 1, LOOK_UPS)
    if (waitMs > 0) throw new Problem('TOO_MANY_BADGES', undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
    const badge = lookUp(id)
    badge.catch(() => kept.delete(id))
    kept.delete(id)
    kept.set(id, { until: now + FRESH_MS, badge })
    const [oldest] = kept.keys()
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    return badge
  }

  return {
    /** The same problem for an environment that is not there and for one without a badge. */
    async of(at: names.EnvironmentPath, address: string): Promise<Badge> {
      const badge = await fresh(at.environment, address)
      if (badge?.account !== at.account || names.fold(badge.app) !== names.fold(at.app))
        throw new Problem('ENVIRONMENT_NOT_FOUND')
      return badge
    },
  }
}

export type Badges = ReturnType<typeof createBadges>

/** A build under way comes first; a site that sleeps is live. */
export function badgeState(
  state: resources.EnvironmentState,
  latestBuild: resources.BuildState | undefined,
  isHeld: boolean,
): resources.BadgeState {
  if (latestBuild === 'QUEUED' || latestBuild === 'RUNNING') return 'building'
  if (latestBuild === 'FAILED') return 'failing'
  if (isHeld) return 'held'
  return state === 'LIVE' ? 'live' : 'never deployed'
}

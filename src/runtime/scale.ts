/**
 * How many instances an app should have, by the requests in flight at all of them:
 *
 *   fewer than `minInstances`, more than `maxInstances`                    changed at once
 *   busy: more than `requestsPerInstance` at each, for BUSY_MS             one more
 *   calm: one fewer would be busy by half at most, for CALM_MS             one fewer
 *
 * The agent of one machine decides by it, and so does the leader of a cluster.
 */
import type { resources } from '../contract/index.ts'

export const BUSY_MS = 3000
export const CALM_MS = 30_000

/** How long an app is busy or calm before the number changes. */
export type ScalePace = { busyMs: number; calmMs: number }

const PACE: ScalePace = { busyMs: BUSY_MS, calmMs: CALM_MS }

export type Load = { scaling: resources.Scaling; instances: number; inFlight: number }

/** Since when it is busy or calm; undefined while it is neither. */
export type Trend = { kind: 'busy' | 'calm'; since: number } | undefined

export function trendOf({ scaling, instances, inFlight }: Load, before: Trend, now: number): Trend {
  const { requestsPerInstance: target } = scaling
  const kind = inFlight > instances * target ? 'busy' : inFlight <= ((instances - 1) * target) / 2 ? 'calm' : undefined
  if (kind === undefined) return undefined
  return before?.kind === kind ? before : { kind, since: now }
}

/** The number of instances to have next, which differs by one at most. */
export function nextCount(
  { scaling, instances }: Load,
  trend: Trend,
  now: number,
  { busyMs, calmMs }: ScalePace = PACE,
): number {
  const { minInstances, maxInstances } = scaling
  const least = Math.max(minInstances, 1)
  if (instances < least) return instances + 1
  if (instances > maxInstances) return instances - 1
  const lasted = trend ? now - trend.since : 0
  if (trend?.kind === 'busy' && lasted >= busyMs && instances < maxInstances) return instances + 1
  if (trend?.kind === 'calm' && lasted >= calmMs && instances > least) return instances - 1
  return instances
}

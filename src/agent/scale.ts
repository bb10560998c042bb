/**
 * How many instances an app should have, by the requests in flight at all of them:
 *
 *   fewer than `minInstances`, more than `maxInstances`                    changed at once
 *   busy: more than `requestsPerInstance` at each, for BUSY_MS             one more
 *   calm: one fewer would be busy by half at most, for CALM_MS             one fewer
 */
import type { resources } from '../contract/index.ts'

export const BUSY_MS = 3000
export const CALM_MS = 30_000

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
export function nextCount({ scaling, instances }: Load, trend: Trend, now: number): number {
  const { minInstances, maxInstances } = scaling
  const least = Math.max(minInstances, 1)
  if (instances < least) return instances + 1
  if (instances > maxInstances) return instances - 1
  const lasted = trend ? now - trend.since : 0
  if (trend?.kind === 'busy' && lasted >= BUSY_MS && instances < maxInstances) return instances + 1
  if (trend?.kind === 'calm' && lasted >= CALM_MS && instances > least) return instances - 1
  return instances
}

/** The last day of an environment in a few numbers an hour: enough for a small chart beside its name. */
import { toRfc3339 } from '../base/index.ts'
import { names, type resources } from '../contract/index.ts'
import type { Counts } from './counts.ts'
import { firstOf, HOUR_MS, startOf } from './steps.ts'

export const SUMMARY = { stepMs: HOUR_MS, count: 24 } as const

type Hours = Pick<resources.TrafficSummary, 'requests' | 'hits' | 'errors'>

/** Adds up counts by environment and hour; those outside of the last day are left out. */
export function createSummary(now: number) {
  const first = firstOf(SUMMARY, now)
  const byEnvironment = new Map<string, Hours>()

  function hoursOf(environment: string): Hours {
    const known = byEnvironment.get(environment)
    if (known) return known
    const zeros = () => Array.from({ length: SUMMARY.count }, () => 0)
    const hours = { requests: zeros(), hits: zeros(), errors: zeros() }
    byEnvironment.set(environment, hours)
    return hours
  }

  return {
    first,
    add(environment: string, start: number, counts: Counts) {
      const at = (startOf(start, HOUR_MS) - first) / HOUR_MS
      if (at < 0 || at >= SUMMARY.count || counts.requests === 0) return
      const hours = hoursOf(environment)
      for (const figure of ['requests', 'hits', 'errors'] as const)
        hours[figure][at] = (hours[figure][at] ?? 0) + counts[figure]
    },
    /** Undefined for an environment without visits. */
    of(at: names.EnvironmentPath): resources.TrafficSummary | undefined {
      const hours = byEnvironment.get(at.environment)
      return (
        hours && {
          environment: names.environmentResource(at),
          startTime: toRfc3339(first),
          stepSeconds: SUMMARY.stepMs / 1000,
          ...hours,
        }
      )
    },
  }
}

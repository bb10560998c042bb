/** The traffic of the last day of all environments of an account, in one list. */
import { useMemo } from 'react'
import { type Loaded, useWholeList } from '../../../api/data.ts'
import type { TrafficSummary } from '../../../api/types.ts'
import { type Day, dayOf } from './day.ts'

/** Visits cause no events, so they are polled, about as often as a number changes that people would notice. */
const REFRESH_MS = 60_000

/** The day of an environment by its name; one without visits has a day without any. */
export type DayOf = (environment: string) => Day

/** `dayOf` is undefined while it is being fetched, or if it cannot be. */
export function useTraffic(
  account: string,
): Pick<Loaded<unknown>, 'problem' | 'refresh'> & { dayOf: DayOf | undefined } {
  const { items, problem, refresh } = useWholeList<TrafficSummary>(
    `accounts/${account}/trafficSummaries`,
    'trafficSummaries',
    {
      refreshMs: REFRESH_MS,
    },
  )
  const found = useMemo(() => {
    if (!items) return undefined
    const days = new Map(items.map((summary) => [summary.environment, dayOf(summary)]))
    return (environment: string) => days.get(environment) ?? NO_VISITS
  }, [items])
  return { dayOf: found, problem, refresh }
}

const NO_VISITS = dayOf(undefined)

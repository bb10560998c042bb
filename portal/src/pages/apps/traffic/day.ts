/** The last day of an environment: its totals, its hours, and what a screen reader says of them. */
import type { TrafficSummary } from '../../../api/types.ts'
import { counted, number } from '../../../components/facts/format.ts'
import { percent } from '../../usage/disk/share.ts'

export const HOURS = 24

export type Day = {
  requests: number
  /** Of 100 requests; null without any. */
  hitRatio: number | null
  errors: number
  hours: { requests: readonly number[]; hitRatio: readonly (number | null)[]; errors: readonly number[] }
}

const NONE: Pick<TrafficSummary, 'requests' | 'hits' | 'errors'> = {
  requests: Array(HOURS).fill(0),
  hits: Array(HOURS).fill(0),
  errors: Array(HOURS).fill(0),
}

export function dayOf(summary: TrafficSummary | undefined): Day {
  const { requests, hits, errors } = summary ?? NONE
  const total = sum(requests)
  return {
    requests: total,
    hitRatio: ratio(sum(hits), total),
    errors: sum(errors),
    hours: { requests, hitRatio: requests.map((count, at) => ratio(hits[at] ?? 0, count)), errors },
  }
}

/** `1,204 requests, 94.2% hits, 1 error`. */
export function inWords({ requests, hitRatio, errors }: Day): string {
  if (hitRatio === null) return 'no requests'
  return `${counted(requests, 'request')}, ${percent(hitRatio)} hits, ${errors === 0 ? 'no' : number(errors)} error${errors === 1 ? '' : 's'}`
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

const ratio = (hits: number, requests: number): number | null => (requests > 0 ? (100 * hits) / requests : null)

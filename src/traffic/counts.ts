/** Counts of visits: how they are added up, and stored as a row of numbers. */

export type Counts = {
  requests: number
  hits: number
  bytes: number
  errors: number
  /** Responses with a status of 2xx, 3xx and 4xx; zeros for visits that an earlier version counted. */
  statuses: readonly number[]
  /** How many responses began within each of the bounds, and, last, how many began later. */
  latencies: readonly number[]
}

export const NOTHING: Counts = { requests: 0, hits: 0, bytes: 0, errors: 0, statuses: [0, 0, 0], latencies: [] }

export function sum(one: Counts, other: Counts): Counts {
  const [longer, shorter] =
    one.latencies.length >= other.latencies.length ? [one.latencies, other.latencies] : [other.latencies, one.latencies]
  return {
    requests: one.requests + other.requests,
    hits: one.hits + other.hits,
    bytes: one.bytes + other.bytes,
    errors: one.errors + other.errors,
    statuses: one.statuses.map((count, at) => count + (other.statuses[at] ?? 0)),
    latencies: longer.map((count, at) => count + (shorter[at] ?? 0)),
  }
}

/** Zeros at the end are left out, as most responses are quick. */
export function toText({ requests, hits, bytes, errors, statuses, latencies }: Counts): string {
  const slowest = latencies.findLastIndex((count) => count > 0)
  return JSON.stringify([requests, hits, bytes, errors, statuses, ...latencies.slice(0, slowest + 1)])
}

/** Rows of an earlier version have no statuses. */
export function fromText(text: string): Counts {
  const [requests, hits, bytes, errors, ...rest] = JSON.parse(text) as [number, number, number, number]
  const [first, ...others] = rest as unknown as [number[] | number | undefined, ...number[]]
  if (Array.isArray(first)) return { requests, hits, bytes, errors, statuses: first, latencies: others }
  return { requests, hits, bytes, errors, statuses: NOTHING.statuses, latencies: rest }
}

/**
 * The time within which this share of responses began. Within a bucket they are assumed to be spread evenly; those later than
 * the last bound, up to twice that bound.
 */
export function percentile(latencies: readonly number[], share: number, boundsMs: readonly number[]): number {
  const total = latencies.reduce((all, count) => all + count, 0)
  const rank = share * total
  let before = 0
  for (const [at, count] of latencies.entries()) {
    if (count > 0 && before + count >= rank) {
      const lower = boundsMs[at - 1] ?? 0
      const upper = boundsMs[at] ?? lower * 2
      return Math.round((lower + ((upper - lower) * (rank - before)) / count) * 10) / 10
    }
    before += count
  }
  return 0
}

/** The requests that the page holds, the newest first, in bounded memory. */
import type { RequestRecord } from '../../api/types.ts'

/** Beyond it the oldest are left out. */
export const MAX_ROWS = 1000

/** Adds requests that came later, in their order. One that is sent twice, after a connection broke, is there once. */
export function withNewer(rows: readonly RequestRecord[], newer: readonly RequestRecord[], max = MAX_ROWS) {
  const last = rows[0]?.number ?? 0
  const fresh = newer.filter(({ number }) => number > last).reverse()
  return fresh.length === 0 ? rows : [...fresh, ...rows].slice(0, max)
}

/** Adds a page of older ones. */
export function withOlder(rows: readonly RequestRecord[], older: readonly RequestRecord[], max = MAX_ROWS) {
  const first = rows.at(-1)?.number ?? Number.POSITIVE_INFINITY
  return [...rows, ...older.filter(({ number }) => number < first)].slice(0, max)
}

/** How fast pages are, before and after: only pages that both versions answered are counted. Pure. */
import type { resources } from '../../contract/index.ts'

export function speedOf(milliseconds: readonly number[]): resources.PageSpeed | undefined {
  if (milliseconds.length === 0) return undefined
  const sorted = milliseconds.toSorted((a, b) => a - b)
  // The nearest rank: always a time that was measured.
  const at = (share: number): number => round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] as number)
  return { medianMilliseconds: at(0.5), p95Milliseconds: at(0.95) }
}

const round = (ms: number): number => Math.round(ms * 10) / 10

/** A difference that is not by chance: twice as slow, and by more than a human notices. */
export const isSlower = (before: resources.PageSpeed | undefined, after: resources.PageSpeed | undefined): boolean =>
  before !== undefined &&
  after !== undefined &&
  after.medianMilliseconds > before.medianMilliseconds * 2 &&
  after.medianMilliseconds - before.medianMilliseconds > NOTICED_MS

const NOTICED_MS = 100

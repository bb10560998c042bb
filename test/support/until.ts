/** Waits by polling for conditions that report no event. */
import { setTimeout as wait } from 'node:timers/promises'

/**
 * Bounds every wait of the tests. It is far more than a busy machine needs: a test that reaches it would wait for ever.
 */
export const TIMEOUT_MS = 240_000

/** A check may be costly, such as one that reads every process of the machine. */
const MAX_PAUSE_MS = 50

/** Polls until the result is truthy, and resolves to it. */
export async function until<T>(
  look: () => T | Promise<T>,
  what = `it came to: ${look}`,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const deadline = performance.now() + TIMEOUT_MS
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)) {
    const seen = await look()
    if (seen) return seen as Exclude<T, undefined | null | false | 0 | ''>
    if (performance.now() > deadline) throw new Error(`Timed out waiting until ${what}`)
    await wait(pauseMs)
  }
}

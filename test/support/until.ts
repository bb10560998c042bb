/** Waits for what shows only to those who look. */
import { setTimeout as wait } from 'node:timers/promises'

/** Bounds every wait of the tests. It is far beyond what a busy machine needs: a test that gets here waits in vain. */
export const TIMEOUT_MS = 240_000

/** A look may be costly, such as one at every process of the machine. */
const MAX_PAUSE_MS = 50

/** Looks until there is something, and gives what it saw. */
export async function until<T>(
  look: () => T | Promise<T>,
  what = `it came to: ${look}`,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const deadline = performance.now() + TIMEOUT_MS
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)) {
    const seen = await look()
    if (seen) return seen as Exclude<T, undefined | null | false | 0 | ''>
    if (performance.now() > deadline) throw new Error(`It was waited in vain until ${what}`)
    await wait(pauseMs)
  }
}

/** Caches replies of the registry for a while: builds come in bursts, and new versions are rare. */
import type { Clock } from '../../base/index.ts'
import type { Registry } from './registry.ts'
import { createShared } from './shared.ts'

const FRESH_MS = 10 * 60_000
/** After a failure the registry is not asked for this time, so that the next builds need not wait for it. */
const FAILED_MS = 30_000
const TIMEOUT_MS = 60_000

type Outcome<T> = { value: T } | { error: unknown }

/** The versions of each package. */
export const createLists = ({ registry, clock }: { registry: Pick<Registry, 'versions'>; clock: Clock }) =>
  createCachedRequests((name, signal) => registry.versions(name, signal), clock)

export type Lists = ReturnType<typeof createLists>

/** Requests about packages, by their names. */
export function createCachedRequests<T>(request: (name: string, signal: AbortSignal) => Promise<T>, clock: Clock) {
  const cached = new Map<string, { outcome: Outcome<T>; until: number }>()
  const requests = createShared<Outcome<T>>()

  async function send(name: string, signal: AbortSignal): Promise<Outcome<T>> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    const outcome: Outcome<T> = await request(name, limited).then(
      (value) => ({ value }),
      (error) => ({ error }),
    )
    // An abort by the callers says nothing about the registry.
    if (!signal.aborted) {
      const until = clock.now() + ('value' in outcome ? FRESH_MS : FAILED_MS)
      cached.set(name, { outcome, until })
    }
    return outcome
  }

  return {
    async of(name: string, signal: AbortSignal): Promise<T> {
      const known = cached.get(name)
      const outcome =
        known && known.until > clock.now()
          ? known.outcome
          : await requests.join(name, signal, (left) => send(name, left))
      if ('error' in outcome) throw outcome.error
      return outcome.value
    },
  }
}

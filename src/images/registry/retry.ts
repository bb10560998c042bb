/** Asks a registry that is away again, later and later, for a bounded time. */
import type { Clock } from '../../base/index.ts'
import { RegistryUnreachable } from './problem.ts'

export type Retrying = {
  clock: Clock
  /** How long it is asked again, from the first failure on. */
  timeoutMs: number
  signal?: AbortSignal | undefined
  /** Called before each wait. */
  onWait?: ((error: RegistryUnreachable, waitMs: number) => void) | undefined
}

const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 10_000

export async function retry<T>(attempt: () => Promise<T>, retrying: Retrying): Promise<T> {
  const { clock, timeoutMs, signal, onWait } = retrying
  let until: number | undefined
  for (let count = 0; ; count++) {
    signal?.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof RegistryUnreachable)) throw error
      until ??= clock.now() + timeoutMs
      const backOff = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** count) * (0.75 + Math.random() / 2)
      const waitMs = Math.max(backOff, error.retryAfterMs ?? 0)
      if (clock.now() + waitMs > until) throw error
      onWait?.(error, waitMs)
      await clock.sleep(waitMs, signal)
    }
  }
}

/** In seconds or as a date (RFC 9110, 10.2.3). */
export function retryAfterOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

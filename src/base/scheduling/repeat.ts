/** Repeated work, and waits that can end early. All of them use the clock that they are given. */
import type { Clock } from './clock.ts'

type Sleeper = Pick<Clock, 'sleep'>

export type Repetition = { done: Promise<void>; stop(): Promise<void> }

/**
 * Does the work after each pause, and with `isImmediate` also before the first one, until it is stopped or the work rejects.
 * `done` settles then, and rejects as the work did; `stop` also waits for work that is under way, and never rejects.
 */
export function repeat(
  clock: Sleeper,
  pauseMs: number,
  work: () => Promise<unknown>,
  { isImmediate = false } = {},
): Repetition {
  const stopping = new AbortController()
  const { signal } = stopping
  const done = (async () => {
    if (isImmediate) await work()
    while (!signal.aborted) {
      await clock.sleep(pauseMs, signal)
      if (!signal.aborted) await work()
    }
  })()
  return {
    done,
    async stop() {
      stopping.abort()
      await done.catch(() => undefined)
    },
  }
}

/** Asks until the answer is true, at least once; false if it was not true within the time, or if the signal was aborted. */
export async function pollUntil(
  clock: Sleeper,
  isDone: () => boolean | Promise<boolean>,
  { pauseMs, timeoutMs, signal }: { pauseMs: number; timeoutMs: number; signal?: AbortSignal },
): Promise<boolean> {
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    if (await isDone()) return true
    if (waitedMs >= timeoutMs || signal?.aborted) return false
    await clock.sleep(pauseMs, signal)
  }
}

/** Whether it settles within the time; rejects as it does if that is in time. Leaves no timer behind. */
export async function settlesWithin(clock: Sleeper, promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = new AbortController()
  const settling = promise.finally(() => settled.abort())
  await Promise.race([settling, clock.sleep(ms, settled.signal)])
  if (settled.signal.aborted) await promise
  return settled.signal.aborted
}

/** A clock that the test moves by hand. A sleep ends when the clock has passed its end. */
import type { Clock } from '../../src/base/index.ts'

type Sleeper = { wakeTime: number; wake(): void }

export type HandClock = Clock & {
  advance(ms: number): Promise<void>
  /** How many sleeps have not ended. */
  sleeping(): number
}

export function handClock(start = 1_700_000_000_000): HandClock {
  let now = start
  const sleepers = new Set<Sleeper>()

  return {
    now: () => now,
    sleep(ms, signal) {
      if (signal?.aborted || ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const sleeper = { wakeTime: now + ms, wake }
        function wake() {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        signal?.addEventListener('abort', wake)
        sleepers.add(sleeper)
      })
    },
    sleeping: () => sleepers.size,
    async advance(ms) {
      now += ms
      for (const sleeper of sleepers) if (sleeper.wakeTime <= now) sleeper.wake()
      // Lets the code behind the sleep run until it waits again.
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

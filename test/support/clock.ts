/** A clock whose hands the test moves. Sleepers wake when their time has come. */
import type { Clock } from '../../src/base/index.ts'

type Sleeper = { wakeTime: number; wake(): void }

export type HandClock = Clock & {
  advance(ms: number): Promise<void>
  /** How many wait for their time. */
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
      // Lets what was woken run until it waits for something again.
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

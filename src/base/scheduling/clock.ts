/** The clock is passed as an argument, so that tests can move the time instead of waiting. */
import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after so many milliseconds, or at once when the signal is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    await wait(ms, undefined, signal ? { signal } : {}).catch((error) => {
      if (error.name !== 'AbortError') throw error
    })
  },
}

export const toRfc3339 = (ms: number): string => new Date(ms).toISOString()

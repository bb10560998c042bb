/**
 * How long a client may let an upload wait. Time counts only while the service waits for bytes, not while its own disk is
 * slow. A client that sends a byte now and then must reach an average rate, so that every upload ends.
 */
const MIN_BYTES_PER_SECOND = 1024

export type Timeout = {
  /** The service waits for bytes from now on. */
  resume(): void
  /** The service does not wait from now on. */
  pause(): void
  received(bytes: number): void
}

export function createTimeout(stallMs: number, onTimeout: () => void): Timeout {
  let bytes = 0
  let waitedMs = 0
  let waitingSince: number | undefined
  let timer: NodeJS.Timeout | undefined

  function pause() {
    clearTimeout(timer)
    if (waitingSince !== undefined) waitedMs += performance.now() - waitingSince
    waitingSince = undefined
  }

  function resume() {
    pause()
    waitingSince = performance.now()
    timer = setTimeout(onTimeout, stallMs)
  }

  return {
    resume,
    pause,
    received(more) {
      bytes += more
      resume()
      if (waitedMs > stallMs && bytes < (waitedMs / 1000) * MIN_BYTES_PER_SECOND) onTimeout()
    },
  }
}

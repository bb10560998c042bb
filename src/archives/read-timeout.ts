/**
 * How long a client may keep us waiting. Time counts only while we wait: when our own disk is slow, nobody else is to
 * blame. A client that sends a byte now and then is held to an average, so that no upload lasts for ever.
 */
const MIN_BYTES_PER_SECOND = 1024

export type Timeout = {
  /** From now on we wait. */
  resume(): void
  /** From now on we do not. */
  pause(): void
  /** So many bytes came. */
  heard(bytes: number): void
}

export function createTimeout(stallMs: number, lose: () => void): Timeout {
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
    timer = setTimeout(lose, stallMs)
  }

  return {
    resume,
    pause,
    heard(more) {
      bytes += more
      resume()
      if (waitedMs > stallMs && bytes < (waitedMs / 1000) * MIN_BYTES_PER_SECOND) lose()
    },
  }
}

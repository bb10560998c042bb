/**
 * Whether the disk works: faults are reported once until a write succeeds, and after a fault nothing is kept for a
 * while.
 */

export function createHealth({ pauseMs, report }: { pauseMs: number; report(error: unknown): void }) {
  let hasFault = false
  let pausedUntil = 0

  function notify(error: unknown) {
    if (hasFault) return
    hasFault = true
    report(error)
  }

  function pause() {
    pausedUntil = performance.now() + pauseMs
  }

  return {
    notify,
    pause,
    fail(error: unknown) {
      pause()
      notify(error)
    },
    succeed() {
      hasFault = false
    },
    isPaused(): boolean {
      if (pausedUntil === 0) return false
      if (performance.now() < pausedUntil) return true
      pausedUntil = 0
      return false
    },
  }
}

/**
 * Ctrl-C, and the signals by which machines say the same. Whatever is under way hears of them by an `AbortSignal`, and so
 * can clean up after itself; for a while somebody may answer Ctrl-C in another way.
 */
import { Interrupted } from './output/terminal.ts'

export type Interrupts = {
  /** Aborted when the command is to end. */
  signal: AbortSignal
  leave(): void
  /** What the next Ctrl-C does instead; the one after it ends the command again. */
  onceInstead(answer: (() => void) | undefined): void
  close(): void
}

/** A key that is pressed once may come twice: to every process of a terminal, and handed on by one to the next. */
const ONE_PRESS_MS = 300

export function listenForInterrupts(): Interrupts {
  const leaving = new AbortController()
  let instead: (() => void) | undefined
  let lastMs = Number.NEGATIVE_INFINITY

  function leave() {
    leaving.abort(new Interrupted())
  }
  function onPress() {
    const isSamePress = performance.now() - lastMs < ONE_PRESS_MS
    lastMs = performance.now()
    if (isSamePress) return
    const answer = instead
    instead = undefined
    if (answer) answer()
    else leave()
  }
  process.on('SIGINT', onPress)
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, leave)

  return {
    signal: leaving.signal,
    leave,
    onceInstead(answer) {
      instead = answer
    },
    close() {
      process.off('SIGINT', onPress)
      for (const name of ['SIGTERM', 'SIGHUP'] as const) process.off(name, leave)
    },
  }
}

/**
 * Ctrl-C, SIGTERM and SIGHUP abort an `AbortSignal`, so that the work under way can clean up after itself. A caller can handle
 * the next Ctrl-C in another way.
 */
import { Interrupted } from './output/terminal.ts'

export type Interrupts = {
  /** Aborted when the command is to end. */
  signal: AbortSignal
  leave(): void
  /** What the next Ctrl-C does instead; the one after it ends the command. */
  onceInstead(handler: (() => void) | undefined): void
  close(): void
}

/** One Ctrl-C may arrive twice: the terminal sends it to every process, and a parent process may pass it on. */
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
    const handler = instead
    instead = undefined
    if (handler) handler()
    else leave()
  }
  process.on('SIGINT', onPress)
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, leave)

  return {
    signal: leaving.signal,
    leave,
    onceInstead(handler) {
      instead = handler
    },
    close() {
      process.off('SIGINT', onPress)
      for (const name of ['SIGTERM', 'SIGHUP'] as const) process.off(name, leave)
    },
  }
}

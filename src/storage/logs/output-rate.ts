/**
 * How fast a program may write to its log. Cleaning and writing happen in the service, which serves all accounts, so both
 * are limited for each program.
 *
 *   a build   is read no faster than this, and waits meanwhile: nothing is lost, in particular not the error at the end. When
 *             its log is full, almost nothing is cleaned any more, and it is read as fast as an app
 *   an app    must not wait for its log, as its visitors would wait with it: output that comes too fast is left out for a
 *             moment, and a line says so. Reading is limited too, at a far higher rate: beyond it, the app does wait
 */
import type { Clock } from '../../base/index.ts'

/** In bytes, where each line costs some more. */
type Rate = { atOnce: number; perSecond: number }

/** The cost of cleaning and writing any line, as a number of bytes of a long one. */
export const LINE_BYTES = 256

const [KIB, MIB] = [1024, 1024 ** 2]

export const OUTPUT_RATES = {
  build: { atOnce: 16 * MIB, perSecond: 2 * MIB },
  app: { atOnce: 4 * MIB, perSecond: 256 * KIB },
  read: { atOnce: 32 * MIB, perSecond: 16 * MIB },
} as const satisfies Record<string, Rate>

/** How long the output of an app that wrote too fast is left out: half of its burst is available again after it. */
export const PAUSE_MS = 8000

/** The cost of a piece of output. */
export function costOf(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1
  return chunk.length + lines * LINE_BYTES
}

const LINE_END = 0x0a

export type Verdict = {
  isKept: boolean
  /** How long to stop reading. */
  waitMs: number
}

type Parts = {
  clock: Clock
  kind: 'build' | 'app'
  /** This many bytes were left out, and from now on output is kept again. */
  onLeftOut(bytes: number): void
}

export function createOutputRate({ clock, kind, onLeftOut }: Parts) {
  const kept = createAllowance(clock, OUTPUT_RATES[kind])
  const read = createAllowance(clock, OUTPUT_RATES.read)
  const closing = new AbortController()
  let leftOut = 0

  function pause() {
    clock.sleep(PAUSE_MS, closing.signal).then(goOn)
  }
  function goOn() {
    const bytes = leftOut
    leftOut = 0
    if (bytes > 0) onLeftOut(bytes)
  }

  return {
    judge(chunk: Buffer, isFull: boolean): Verdict {
      const cost = costOf(chunk)
      if (kind === 'build') return { isKept: true, waitMs: (isFull ? read : kept).spend(cost) }
      const waitMs = read.spend(cost)
      const isKept = leftOut === 0 && kept.spend(cost) === 0
      if (!isKept) {
        if (leftOut === 0) pause()
        leftOut += chunk.length
      }
      return { isKept, waitMs }
    },
    /** Waits before more may be read, but not longer than the log is open. */
    wait: (ms: number): Promise<void> => clock.sleep(ms, closing.signal),
    /** Reports what was left out last. */
    close() {
      goOn()
      closing.abort()
    },
  }
}

/** A burst, and then a number per second. Whatever is spent beyond that must be waited for. */
function createAllowance(clock: Pick<Clock, 'now'>, { atOnce, perSecond }: Rate) {
  const maxMs = (atOnce * 1000) / perSecond
  let paidUntil = 0
  return {
    /** The milliseconds until it is paid. */
    spend(bytes: number): number {
      const now = clock.now()
      const knownMs = Math.max(0, paidUntil - now)
      // This much cannot be owed: the clock was set back, and waiting until it has caught up could take hours.
      const owedMs = knownMs > 2 * maxMs ? 0 : knownMs
      paidUntil = now + owedMs + (bytes * 1000) / perSecond
      return Math.max(0, paidUntil - now - maxMs)
    },
  }
}

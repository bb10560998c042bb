/**
 * How fast a program may write to its log. Cleaning and writing is work of the service, which everybody waits for, so both
 * are bounded for each program.
 *
 *   a build   is read no faster than this, and waits meanwhile: nothing is lost, and the error at the end least of all. When
 *             its log is full, nearly nothing is cleaned any more, and it is read as fast as any
 *   an app    must not wait for its log, as its visitors would wait with it: what comes too fast is left out for a moment,
 *             and that is said. Reading has a bound too, far above: beyond it, the app waits after all
 */
import type { Clock } from '../../base/index.ts'

/** In bytes, where each line counts for some more. */
type Rate = { atOnce: number; perSecond: number }

/** What it takes to clean and write a line, whatever is in it: as much as so many bytes of a long one. */
export const LINE_BYTES = 256

const [KIB, MIB] = [1024, 1024 ** 2]

export const OUTPUT_RATES = {
  build: { atOnce: 16 * MIB, perSecond: 2 * MIB },
  app: { atOnce: 4 * MIB, perSecond: 256 * KIB },
  read: { atOnce: 32 * MIB, perSecond: 16 * MIB },
} as const satisfies Record<string, Rate>

/** For how long nothing is kept of an app that wrote too fast: half of what it may write at once comes back meanwhile. */
export const PAUSE_MS = 8000

/** What a piece of output is counted for. */
export function costOf(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1
  return chunk.length + lines * LINE_BYTES
}

const LINE_END = 0x0a

export type Verdict = {
  isKept: boolean
  /** How long nothing more is to be read. */
  waitMs: number
}

type Parts = {
  clock: Clock
  kind: 'build' | 'app'
  /** So many bytes were left out, and from now on there is room again. */
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
    /** As long as nothing more may be read; not for longer than the log is open. */
    wait: (ms: number): Promise<void> => clock.sleep(ms, closing.signal),
    /** Tells what was left out last. */
    close() {
      goOn()
      closing.abort()
    },
  }
}

/** So much at once, and then so much a second. What was spent beyond it is to be waited for. */
function createAllowance(clock: Pick<Clock, 'now'>, { atOnce, perSecond }: Rate) {
  const maxMs = (atOnce * 1000) / perSecond
  let paidUntil = 0
  return {
    /** How many milliseconds it takes until it is paid. */
    spend(bytes: number): number {
      const now = clock.now()
      const knownMs = Math.max(0, paidUntil - now)
      // Nobody can owe that much: the clock was set back, and to wait until it has caught up takes hours.
      const owedMs = knownMs > 2 * maxMs ? 0 : knownMs
      paidUntil = now + owedMs + (bytes * 1000) / perSecond
      return Math.max(0, paidUntil - now - maxMs)
    },
  }
}

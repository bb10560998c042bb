/**
 * Notices when the event loop of this process stood still, and says what it was doing meanwhile. A timer that goes off late
 * tells how long; breadcrumbs tell what. A breadcrumb costs a look at the clock and two assignments, so that a request at
 * the edge can afford one. It is kept for the process and not handed through, as there is one event loop.
 */

export type Stall = {
  /** How late the timer was: the loop stood still at least this long. */
  ms: number
  /** Processor time of this thread meanwhile. Much less than `ms`: the machine was busy, or the disk slow. */
  cpuMs: number
  /** What was begun last before the longest silence. Work that goes on after an `await` leaves no breadcrumb of its own. */
  doing: string
}

/** A stall below this is noise of the machine, and is not told. */
export const MIN_STALL_MS = 50
/** How often the timer goes off. A stall is told too short by at most this much. */
export const TICK_MS = 25

const NOTHING = 'nothing that has a name'

let label = NOTHING
let since = 0
let longestMs = 0
let longestLabel = NOTHING

/** Leaves a breadcrumb: from here on this is what the process does. */
export function doing(what: string) {
  const now = performance.now()
  if (now - since > longestMs) {
    longestMs = now - since
    longestLabel = label
  }
  label = what
  since = now
}

/** Returns what ends the watch. */
export function watchStalls(onStall: (stall: Stall) => void): () => void {
  let due = performance.now() + TICK_MS
  let cpu = process.threadCpuUsage()
  doing(NOTHING)
  longestMs = 0

  const timer = setInterval(() => {
    const lateMs = performance.now() - due
    // Ends the silence that may go on until now.
    doing(NOTHING)
    const [doingThen, cpuBefore] = [longestLabel, cpu]
    cpu = process.threadCpuUsage()
    longestMs = 0
    due = performance.now() + TICK_MS
    if (lateMs < MIN_STALL_MS) return
    const cpuMs = (cpu.user + cpu.system - cpuBefore.user - cpuBefore.system) / 1000
    onStall({ ms: Math.round(lateMs), cpuMs: Math.round(cpuMs), doing: doingThen })
  }, TICK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

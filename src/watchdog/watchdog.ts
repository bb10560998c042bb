/**
 * Detects when the event loop of this process was blocked, and by what. A timer that fires late shows how long;
 * breadcrumbs show the work. A breadcrumb costs one reading of the clock and two assignments, cheap enough for every
 * request at the edge. It is global to the process, since there is one event loop.
 */

export type Stall = {
  /** How late the timer was: the loop was blocked at least this long. */
  ms: number
  /** CPU time of this thread meanwhile. If it is much less than `ms`, the machine was busy, or the disk slow. */
  cpuMs: number
  /**
   * The work that began last before the longest silence. Work that continues after an `await` leaves no breadcrumb of
   * its own.
   */
  doing: string
}

/** Shorter stalls are noise of the machine, and are not reported. */
export const MIN_STALL_MS = 50
/** The interval of the timer. A stall is reported too short by at most this much. */
export const TICK_MS = 25

const NOTHING = 'nothing that has a name'

let label = NOTHING
let since = 0
let longestMs = 0
let longestLabel = NOTHING

/** Leaves a breadcrumb: from now on the process does this. */
export function doing(what: string) {
  const now = performance.now()
  if (now - since > longestMs) {
    longestMs = now - since
    longestLabel = label
  }
  label = what
  since = now
}

/** Returns the function that ends the watch. */
export function watchStalls(onStall: (stall: Stall) => void): () => void {
  let due = performance.now() + TICK_MS
  let cpu = process.threadCpuUsage()
  doing(NOTHING)
  longestMs = 0

  const timer = setInterval(() => {
    const lateMs = performance.now() - due
    // Ends the silence that may last until now.
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

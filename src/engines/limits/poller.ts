/** Checks all running jobs periodically: one timer for all of them, and none while no job runs. */
import { readProcesses, type Table } from './processes.ts'

/** Returns whether a limit is near: then the next poll is soon. The process table is read when the first check needs it. */
export type Check = (processes: () => Table) => boolean

export type Poller = {
  /** Returns a function that stops it. */
  add(check: Check): () => void
}

const FAR_MS = 250
const NEAR_MS = 50
/** Polling takes no more than this part of a core, unless the pause would become longer than the maximum. */
const PART_OF_CORE = 0.05
const LONGEST_MS = 500

export function createPoller(): Poller {
  const checks = new Set<Check>()
  let timer: NodeJS.Timeout | undefined
  let dueAt = 0

  const plan = (ms: number) => {
    dueAt = performance.now() + ms
    timer = setTimeout(poll, ms).unref()
  }

  function poll() {
    const began = performance.now()
    let table: Table | undefined
    const processes = () => (table ??= readProcesses())
    let isNear = false
    for (const check of checks) if (check(processes)) isNear = true
    const tookMs = performance.now() - began
    const restMs = Math.min(LONGEST_MS, tookMs * (1 / PART_OF_CORE - 1))
    if (checks.size === 0) timer = undefined
    else plan(Math.max(isNear ? NEAR_MS : FAR_MS, restMs))
  }

  return {
    add(check) {
      checks.add(check)
      // A new job is checked soon: it may take all memory at once.
      if (timer === undefined || dueAt > performance.now() + NEAR_MS) {
        clearTimeout(timer)
        plan(NEAR_MS)
      }
      return () => checks.delete(check)
    },
  }
}

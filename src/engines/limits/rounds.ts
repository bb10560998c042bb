/** Looks at all running jobs, again and again: one timer for all of them, and none while there is nothing to look at. */
import { readProcesses, type Table } from './processes.ts'

/** Says whether a limit is near: then the next look is soon. The table is read when the first one asks for it. */
export type Look = (processes: () => Table) => boolean

export type Rounds = {
  /** Gives back how to stop. */
  add(look: Look): () => void
}

const FAR_MS = 250
const NEAR_MS = 50
/** Looking takes no more than this part of a core, if that does not mean to look away for long. */
const PART_OF_CORE = 0.05
const LONGEST_MS = 500

export function openRounds(): Rounds {
  const looks = new Set<Look>()
  let timer: NodeJS.Timeout | undefined
  let dueAt = 0

  const plan = (ms: number) => {
    dueAt = performance.now() + ms
    timer = setTimeout(round, ms).unref()
  }

  function round() {
    const began = performance.now()
    let table: Table | undefined
    const processes = () => (table ??= readProcesses())
    let isNear = false
    for (const look of looks) if (look(processes)) isNear = true
    const tookMs = performance.now() - began
    const restMs = Math.min(LONGEST_MS, tookMs * (1 / PART_OF_CORE - 1))
    if (looks.size === 0) timer = undefined
    else plan(Math.max(isNear ? NEAR_MS : FAR_MS, restMs))
  }

  return {
    add(look) {
      looks.add(look)
      // A job that takes all it can get at once is not given a quarter of a second for it.
      if (timer === undefined || dueAt > performance.now() + NEAR_MS) {
        clearTimeout(timer)
        plan(NEAR_MS)
      }
      return () => looks.delete(look)
    },
  }
}

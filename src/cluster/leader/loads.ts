/**
 * The requests in flight at the edges of all processes, from their rows. A process that has died leaves its row: one whose
 * `beats` do not change does not count any more, by the leader's own clock, and is removed later.
 */
import type { LoadRow } from '../rows.ts'

const SILENT_MS = 5000
const DEAD_MS = 60_000

type Known = { beats: number; changedAt: number }

export function createLoads(now: () => number = () => performance.now()) {
  const known = new Map<string, Known>()

  return {
    look(rows: readonly LoadRow[]): { inFlight: ReadonlyMap<string, number>; dead: string[] } {
      const time = now()
      const inFlight = new Map<string, number>()
      const dead: string[] = []
      const there = new Set(rows.map(({ process }) => process))
      for (const process of known.keys()) if (!there.has(process)) known.delete(process)
      for (const { process, loads, beats } of rows) {
        const before = known.get(process)
        const one = before?.beats === beats ? before : { beats, changedAt: time }
        known.set(process, one)
        const silentMs = time - one.changedAt
        if (silentMs >= DEAD_MS) dead.push(process)
        if (silentMs >= SILENT_MS) continue
        for (const [deployment, requests] of Object.entries(loads))
          inFlight.set(deployment, (inFlight.get(deployment) ?? 0) + requests)
      }
      return { inFlight, dead }
    },
  }
}

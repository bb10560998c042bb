/**
 * Routes, with several control processes on one database. A change is over when the edges of all of them use it: each process
 * records the revision that its own edges use, and one that has made a change waits for the rows of the others. One whose row is
 * removed is gone, and a silent one is not waited for without end.
 */
import type { Clock } from '../../base/index.ts'
import type { EdgeRecords } from './records.ts'

/** As long as for an edge of this process that does not confirm its routes. */
const MAX_MS = 10_000
/** How often the rows are read: the pause grows. */
const PAUSE_MS = { first: 10, max: 250 }

type Parts = { clock: Clock; records: Pick<EdgeRecords, 'controls' | 'setRouted'>; control: string }

export function createRouted({ clock, records, control }: Parts) {
  let recorded = -1

  return {
    /** The edges of this process use the routes of this revision. */
    async routed(revision: number): Promise<void> {
      if (revision === recorded) return
      await records.setRouted(control, revision)
      recorded = revision
    },

    /** Resolves when the edges of all other control processes use the routes of this revision, or after a time. */
    async untilOthersRouted(revision: number, signal: AbortSignal): Promise<void> {
      const end = performance.now() + MAX_MS
      for (let pauseMs = PAUSE_MS.first; performance.now() < end; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS.max)) {
        const others = (await records.controls()).filter(({ process }) => process !== control)
        if (others.every(({ routed }) => routed === null || routed >= revision)) return
        await clock.sleep(pauseMs, signal)
        if (signal.aborted) return
      }
    },
  }
}

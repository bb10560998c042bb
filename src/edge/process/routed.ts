/**
 * Routes, with several control processes on one database. A change is over when the edges of all of them use it: each process
 * records the revision that its own edges use, and one that has made a change waits for the rows of those that edges follow. When
 * one dies, its edges follow another one soon; a silent one is not waited for without end.
 */
import type { Clock } from '../../base/index.ts'
import type { EdgeRecords } from './records.ts'

/** As long as for an edge of this process that does not confirm its routes. */
const MAX_MS = 10_000
/** How often the rows are read: the pause grows. */
const PAUSE_MS = { first: 10, max: 250 }

type Parts = { clock: Clock; records: Pick<EdgeRecords, 'controls' | 'edges' | 'setRouted'>; control: string }

export function createRouted({ clock, records, control }: Parts) {
  let recorded = -1

  async function areRouted(revision: number): Promise<boolean> {
    const behind = (await records.controls()).filter(
      ({ process, routed }) => process !== control && routed !== null && routed < revision,
    )
    if (behind.length === 0) return true
    const followed = new Set((await records.edges()).map((edge) => edge.control))
    return !behind.some(({ process }) => followed.has(process))
  }

  return {
    /** The edges of this process use the routes of this revision. */
    async routed(revision: number): Promise<void> {
      // An edge that was slow may confirm earlier routes after others have confirmed later ones.
      if (revision <= recorded) return
      const before = recorded
      recorded = revision
      await records.setRouted(control, revision).catch((error) => {
        recorded = before
        throw error
      })
    },

    /** Resolves when the edges of all other control processes use the routes of this revision, or after a time. */
    async untilOthersRouted(revision: number, signal: AbortSignal): Promise<void> {
      const end = performance.now() + MAX_MS
      for (let pauseMs = PAUSE_MS.first; performance.now() < end; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS.max)) {
        if (await areRouted(revision)) return
        await clock.sleep(pauseMs, signal)
        if (signal.aborted) return
      }
    },
  }
}

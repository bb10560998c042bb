/** Receives what edges report of first visits, and records it. While the database is away, some of them wait for it. */
import { type Clock, type Log, shareNext } from '../base/index.ts'
import { isDatabaseAway, type Sql } from '../storage/index.ts'
import type { PublishRecords, Visited } from './records.ts'

/** As an edge reports it, with how long ago it was. */
export type ReportedVisit = Visited & { agoMs: number }

type Parts = { sql: Sql; clock: Clock; log: Log; records: Pick<PublishRecords, 'visited'> }

type Waiting = { environment: string; of: Visited; time: number }

/** The oldest are dropped: their publishes stay without a visit. */
const MAX_WAITING = 1000

export function createFirstVisits({ sql, clock, log, records }: Parts) {
  const waiting: Waiting[] = []

  const write = shareNext(async () => {
    while (waiting.length > 0) {
      const [next] = waiting as [Waiting]
      await sql
        .transaction((tx) => records.visited(tx, next.environment, next.of, next.time))
        .catch((error) => {
          // One that cannot be written must not keep the others from it.
          if (isDatabaseAway(error)) throw error
          log.error({ err: error, environment: next.environment }, 'a first visit could not be recorded')
        })
      if (waiting[0] === next) waiting.shift()
    }
  })

  return {
    /** What is not written now is tried again with the next report. */
    async receive(environments: Readonly<Record<string, { firstVisits?: readonly ReportedVisit[] }>>): Promise<void> {
      const now = clock.now()
      for (const [environment, { firstVisits = [] }] of Object.entries(environments))
        for (const { agoMs, ...of } of firstVisits) waiting.push({ environment, of, time: now - agoMs })
      if (waiting.length === 0) return
      waiting.splice(0, waiting.length - MAX_WAITING)
      await write().catch((error) => log.warn({ err: error }, 'first visits could not be recorded; they wait'))
    },
  }
}

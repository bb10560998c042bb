/** Which workers there are, for operators: one that has nothing to do holds no lease, so only this tells that it is there. */
import { type Clock, type Log, type Repetition, repeat } from '../base/index.ts'
import { type Sql, statement } from '../storage/index.ts'

/** A type and not an interface, as rows of a query are. */
export type WorkerRow = {
  process: string
  /** Builds that it does at a time. */
  places: number
  version: string
  /** By the clock of its machine, as leases are. */
  seenTime: number
}

/** How often a worker is recorded. */
const SEEN_MS = 10_000
/** One that was lost is forgotten after this. */
const FORGET_MS = 60 * 60_000

export const createWorkerRecords = (sql: Sql) => ({
  all: () =>
    sql.query<WorkerRow>(statement`
      SELECT process, places, version, seen_time AS "seenTime" FROM worker_processes ORDER BY process`),

  see: ({ process, places, version, seenTime }: WorkerRow) =>
    sql.transaction(async (tx) => {
      await tx.query(statement`
        INSERT INTO worker_processes (process, places, version, seen_time)
        VALUES (${process}, ${places}, ${version}, ${seenTime})
        ON CONFLICT (process) DO UPDATE SET seen_time = excluded.seen_time`)
      await tx.query(statement`DELETE FROM worker_processes WHERE seen_time < ${seenTime - FORGET_MS}`)
    }),

  remove: (process: string) =>
    sql.transaction((tx) => tx.query(statement`DELETE FROM worker_processes WHERE process = ${process}`)),
})

export type WorkerRecords = ReturnType<typeof createWorkerRecords>

type Parts = { sql: Sql; clock: Clock; log: Log; worker: Omit<WorkerRow, 'seenTime'> }

/** Records this process as a worker until it is stopped. */
export function recordWorker({ sql, clock, log, worker }: Parts) {
  const records = createWorkerRecords(sql)
  const see = () =>
    records
      .see({ ...worker, seenTime: clock.now() })
      .catch((error) => log.debug({ err: error }, 'that this worker is there could not be recorded'))
  const first = see()
  const repetition: Repetition = repeat(clock, SEEN_MS, see)
  return {
    async stop() {
      await repetition.stop()
      await first
      // Without the database it is seen as lost, and forgotten later.
      await records.remove(worker.process).catch(() => undefined)
    },
  }
}

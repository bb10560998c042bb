/**
 * The control processes and workers of a cluster, for operators. A worker that has nothing to do holds no lease, so only this tells
 * that it is there; and other names of processes do not say on which host they run.
 */
import { type Clock, type Log, repeat, settlesWithin } from '../base/index.ts'
import { type Sql, statement } from '../storage/index.ts'

/** A type and not an interface, as rows of a query are. */
export type ProcessRow = {
  process: string
  role: 'control' | 'worker'
  host: string
  /** Builds that it does at a time. */
  places: number
  version: string
  /** By the clock of its machine, as leases are. */
  seenTime: number
}

/** How often a process is recorded. */
const SEEN_MS = 10_000
/** One that was lost is forgotten after this. */
const FORGET_MS = 60 * 60_000
const STOP_MS = 2000

export const createProcessRecords = (sql: Sql) => ({
  all: () =>
    sql.query<ProcessRow>(statement`
      SELECT process, role, host, places, version, seen_time AS "seenTime" FROM cluster_processes ORDER BY host, process`),

  see: ({ process, role, host, places, version, seenTime }: ProcessRow) =>
    sql.transaction(async (tx) => {
      await tx.query(statement`
        INSERT INTO cluster_processes (process, role, host, places, version, seen_time)
        VALUES (${process}, ${role}, ${host}, ${places}, ${version}, ${seenTime})
        ON CONFLICT (process) DO UPDATE SET seen_time = excluded.seen_time`)
      await tx.query(statement`DELETE FROM cluster_processes WHERE seen_time < ${seenTime - FORGET_MS}`)
    }),

  remove: (process: string) =>
    sql.transaction((tx) => tx.query(statement`DELETE FROM cluster_processes WHERE process = ${process}`)),
})

type Parts = { sql: Sql; clock: Clock; log: Log; row: Omit<ProcessRow, 'seenTime'> }

/** Records this process until it is stopped. */
export function recordProcess({ sql, clock, log, row }: Parts) {
  const records = createProcessRecords(sql)
  const see = () =>
    records
      .see({ ...row, seenTime: clock.now() })
      .catch((error) => log.debug({ err: error }, 'that this process is there could not be recorded'))
  const first = see()
  const repetition = repeat(clock, SEEN_MS, see)

  async function end() {
    await repetition.stop()
    await first
    await records.remove(row.process)
  }

  return {
    /** Without the database it is seen as lost, and forgotten later: a stop does not wait for that. */
    async stop() {
      await settlesWithin(clock, end(), STOP_MS).catch(() => undefined)
    },
  }
}

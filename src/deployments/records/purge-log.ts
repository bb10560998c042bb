/** The purges that edges have to apply, in order, and the edges that may have something stored. */
import { type Clock, isProcessGone } from '../../base/index.ts'
import type { EdgeRecords, MissedPurges, Purge } from '../../edge/index.ts'
import { type Sql, statement } from '../../storage/index.ts'

/** An edge that has missed more than this, or for longer, purges everything. */
const KEPT = { purges: 5000, ms: 10 * 60_000 }

/** How often old purges are removed, in purges. */
const TRIM_EVERY = 100

export function createPurgeLog({ sql, clock }: { sql: Sql; clock: Clock }): EdgeRecords {
  return {
    async addPurge(purge: Purge): Promise<number> {
      const now = clock.now()
      return sql.transaction(async (tx) => {
        const [row] = await tx.query<{ number: number }>(statement`
          INSERT INTO purge_log (number, purge, create_time)
          SELECT COALESCE(MAX(number), 0) + 1, ${JSON.stringify(purge)}, ${now} FROM purge_log
          RETURNING number`)
        const number = row?.number ?? 0
        // The last one stays, as the next number follows from it.
        if (number % TRIM_EVERY === 0)
          await tx.query(statement`
            DELETE FROM purge_log
            WHERE number < ${number} AND (number <= ${number - KEPT.purges} OR create_time < ${now - KEPT.ms})`)
        return number
      })
    },

    async purgesSince(applied: number): Promise<MissedPurges> {
      const [ends] = await sql.query<{ first: number | null; last: number | null }>(
        statement`SELECT MIN(number) AS first, MAX(number) AS last FROM purge_log`,
      )
      const { first, last } = { first: ends?.first ?? 1, last: ends?.last ?? 0 }
      // More than the last one: it followed another database, as before a backup was restored.
      if (applied < first - 1 || applied > last) return { everythingUntil: last }
      if (applied === last) return { purges: [] }
      const rows = await sql.query<{ number: number; purge: string }>(
        statement`SELECT number, purge FROM purge_log WHERE number > ${applied} ORDER BY number`,
      )
      return { purges: rows.map(({ number, purge }) => ({ number, purge: JSON.parse(purge) })) }
    },

    async addEdge(process) {
      await sql.transaction((tx) =>
        tx.query(statement`INSERT INTO edges (process) VALUES (${process}) ON CONFLICT (process) DO NOTHING`),
      )
    },
    async removeEdge(process) {
      await sql.transaction((tx) => tx.query(statement`DELETE FROM edges WHERE process = ${process}`))
    },
    async edges() {
      return (await sql.query<{ process: string }>(statement`SELECT process FROM edges`)).map(({ process }) => process)
    },
    isGone: isProcessGone,
  }
}

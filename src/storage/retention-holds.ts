/**
 * A retention hold: while a backup copies the data folder, files that rows referred to when it began are kept.
 *
 * Two rules make it work between processes. A backup records its hold first, and reads the rows after that. A garbage
 * collection removes the last reference to a file first, and checks for holds after that. So a collection that sees no hold
 * removes no file that a later backup reads of. Files that were kept only because of a hold are removed by a later collection.
 *
 * A hold expires by itself, since its process may have died.
 */
import type { Clock, NewId } from '../base/index.ts'
import { type Reader, type Sql, statement } from './sql/sql.ts'

/** Files that stay a few minutes too long do no harm; files that are removed too soon would break a backup. */
export const RETENTION_HOLD_MS = 5 * 60_000

export type RetentionHold = {
  id: string
  /** Rejects if it has expired, since files may be gone. */
  renew(): Promise<void>
  release(): Promise<void>
}

/** Whether files must stay for now. To be checked after the last reference to them was removed. */
export async function hasRetentionHold(reader: Reader, now: number): Promise<boolean> {
  const [row] = await reader.query(statement`SELECT id FROM holds WHERE until > ${now} LIMIT 1`)
  return row !== undefined
}

export function createRetentionHolds({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function forget(id: string) {
    await sql.transaction((tx) => tx.query(statement`DELETE FROM holds WHERE id = ${id}`))
  }

  return {
    async take(draft: string | null): Promise<RetentionHold> {
      const id = newId()
      await sql.transaction((tx) =>
        tx.query(
          statement`INSERT INTO holds (id, until, draft) VALUES (${id}, ${clock.now() + RETENTION_HOLD_MS}, ${draft})`,
        ),
      )
      return {
        id,
        async renew() {
          const [row] = await sql.transaction((tx) => {
            const now = clock.now()
            return tx.query(
              statement`UPDATE holds SET until = ${now + RETENTION_HOLD_MS} WHERE id = ${id} AND until > ${now} RETURNING id`,
            )
          })
          if (!row) throw new Error('What is copied was not held all the time. Try again.')
        },
        release: () => forget(id),
      }
    },

    /** Expired holds, whose processes died. */
    abandoned: (): Promise<{ id: string; draft: string | null }[]> =>
      sql.query(statement`SELECT id, draft FROM holds WHERE until <= ${clock.now()}`),
    forget,
  }
}

export type RetentionHolds = ReturnType<typeof createRetentionHolds>

/**
 * A hold: while somebody copies the data folder, files stay that rows referred to when the copy began.
 *
 * Two rules make it work between processes. Whoever holds writes that down first, and reads the rows after it. Whoever removes
 * files takes the last reference to them away first, and asks for a hold after it. So a remover that sees no hold removes
 * nothing that a later holder will read of. What stays for the sake of a hold is nobody's, and goes with a later collection.
 *
 * A hold runs out by itself: its holder may have died.
 */
import type { Clock, NewId } from '../base/index.ts'
import { type Reader, type Sql, statement } from './sql/sql.ts'

/** It does no harm that files stay a few minutes longer; that they go too soon would spoil a copy. */
export const HOLD_MS = 5 * 60_000

export type Hold = {
  id: string
  /** Rejects when it has run out meanwhile, since files may be gone. */
  renew(): Promise<void>
  release(): Promise<void>
}

/** Whether files must stay for now. To be asked when nobody refers to them any more. */
export async function isHeld(reader: Reader, now: number): Promise<boolean> {
  const [row] = await reader.query(statement`SELECT id FROM holds WHERE until > ${now} LIMIT 1`)
  return row !== undefined
}

export function createHolds({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function forget(id: string) {
    await sql.transaction((tx) => tx.query(statement`DELETE FROM holds WHERE id = ${id}`))
  }

  return {
    async take(draft: string | null): Promise<Hold> {
      const id = newId()
      await sql.transaction((tx) =>
        tx.query(statement`INSERT INTO holds (id, until, draft) VALUES (${id}, ${clock.now() + HOLD_MS}, ${draft})`),
      )
      return {
        id,
        async renew() {
          const [row] = await sql.transaction((tx) => {
            const now = clock.now()
            return tx.query(
              statement`UPDATE holds SET until = ${now + HOLD_MS} WHERE id = ${id} AND until > ${now} RETURNING id`,
            )
          })
          if (!row) throw new Error('What is copied was not held all the time. Try again.')
        },
        release: () => forget(id),
      }
    },

    /** Those that ran out: their holders died. */
    abandoned: (): Promise<{ id: string; draft: string | null }[]> =>
      sql.query(statement`SELECT id, draft FROM holds WHERE until <= ${clock.now()}`),
    forget,
  }
}

export type Holds = ReturnType<typeof createHolds>

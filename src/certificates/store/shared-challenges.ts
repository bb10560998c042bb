/** The challenges of all edges, and which control processes have given them to theirs. */

import type { EdgeChallenges } from '../../edge/index.ts'
import { list, type Sql, statement, type Transaction, type Vault } from '../../storage/index.ts'

export type SharedChallengesRow = { revision: number; challenges: string }

const ROW = 'all'
const placeOf = (revision: number): string => `ACME challenges ${revision}`

/** Followers of no account. */
export const HINTS = ''
/** One word, as other hints have two. */
export const HINT = 'challenges'

type Parts = { sql: Sql; vault: Pick<Vault, 'seal' | 'open'>; checkTerm(tx: Transaction): Promise<void> }

export function createSharedChallengeRecords({ sql, vault, checkTerm }: Parts) {
  return {
    async read(): Promise<SharedChallengesRow | undefined> {
      const [row] = await sql.query<SharedChallengesRow>(
        statement`SELECT revision, challenges FROM acme_challenges WHERE name = ${ROW}`,
      )
      return row
    },

    open: ({ revision, challenges }: SharedChallengesRow): EdgeChallenges =>
      JSON.parse(vault.open(challenges, placeOf(revision))),

    /** Only the leader's. Returns the revision. */
    replace: (next: EdgeChallenges): Promise<number> =>
      sql.transaction(async (tx) => {
        await checkTerm(tx)
        const [before] = await tx.query<{ revision: number }>(
          statement`SELECT revision FROM acme_challenges WHERE name = ${ROW}`,
        )
        const revision = (before?.revision ?? 0) + 1
        const sealed = vault.seal(JSON.stringify(next), placeOf(revision))
        await tx.query(statement`
          INSERT INTO acme_challenges (name, revision, challenges) VALUES (${ROW}, ${revision}, ${sealed})
          ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, challenges = excluded.challenges`)
        tx.notify(HINTS, HINT)
        return revision
      }),

    async confirm(control: string, revision: number) {
      await sql.transaction((tx) =>
        tx.query(statement`
          INSERT INTO acme_confirmations (control, revision) VALUES (${control}, ${revision})
          ON CONFLICT (control) DO UPDATE SET revision = excluded.revision`),
      )
    },

    confirmations: () =>
      sql.query<{ control: string; revision: number }>(statement`SELECT control, revision FROM acme_confirmations`),

    /** Of processes that are gone. */
    async forget(controls: readonly string[]) {
      if (controls.length === 0) return
      await sql.transaction((tx) =>
        tx.query(statement`DELETE FROM acme_confirmations WHERE control IN (${list(controls)})`),
      )
    },
  }
}

export type SharedChallengeRecords = ReturnType<typeof createSharedChallengeRecords>

/**
 * The election of a database that one process has for itself, as SQLite in a data folder that is locked: it always leads. The
 * term rises with each start. If the disk is full then, it rises with the first transaction that can be written: a garbage
 * collection must be possible without that.
 */
import type { Clock } from '../../base/index.ts'
import { type Reader, type Sql, StorageUnavailable, statement, type Transaction } from '../sql/sql.ts'
import { type Election, type Leader, LeadershipLost } from './election.ts'

const NEVER = new AbortController().signal

export function createLoneElection({ sql, clock }: { sql: Sql; clock: Clock }): Election {
  return {
    async run(holder) {
      const term = ((await read(sql))?.term ?? 0) + 1

      async function check(tx: Transaction) {
        const known = await read(tx)
        if (known?.term === term && known.holder === holder) return
        if (known && known.term >= term) throw new LeadershipLost()
        const now = clock.now()
        await tx.query(statement`
          INSERT INTO leadership (name, term, holder, time) VALUES ('control', ${term}, ${holder}, ${now})
          ON CONFLICT (name) DO UPDATE SET term = ${term}, holder = ${holder}, time = ${now}`)
      }

      await sql.transaction(check).catch((error) => {
        if (!(error instanceof StorageUnavailable)) throw error
      })
      return { term, check, sentTime: performance.now(), lost: NEVER, release: async () => undefined }
    },
    close: async () => undefined,
  }
}

async function read(reader: Reader): Promise<Leader | undefined> {
  const [row] = await reader.query<Leader>(statement`SELECT term, holder FROM leadership WHERE name = 'control'`)
  return row
}

/** Which process leads, for those who only look. */
import { type Reader, statement } from '../sql/sql.ts'
import type { Leader } from './election.ts'

/** `time`: when it renewed its lease last, by the clock of the database. Where one process has the database, that is its start. */
export async function readLeader(reader: Reader): Promise<(Leader & { time: number }) | undefined> {
  const [row] = await reader.query<Leader & { time: number }>(
    statement`SELECT term, holder, time FROM leadership WHERE name = 'control'`,
  )
  return row
}

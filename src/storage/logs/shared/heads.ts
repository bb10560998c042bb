/** One row for each log that has lines in rows: its last number, and how much is in which part of it. */
import { list, type Reader, rows, statement, type Transaction } from '../../sql/sql.ts'

export type Head = {
  log_name: string
  last_number: number
  /** The first number of the newer part, which is written to. Rows with lower ones are the older part. */
  open_number: number
  /** Of the first line of the newer part; null where it has none. */
  open_time: number | null
  open_bytes: number
  /** Of the first line of the older part; null where there is none in rows. */
  closed_time: number | null
  closed_bytes: number
  /** From this number on, rows are small, and are merged when they are many. */
  loose_number: number
  loose_count: number
  loose_bytes: number
}

/** Of a log without lines in rows. */
export const newHead = (name: string, lastNumber: number): Head => ({
  log_name: name,
  last_number: lastNumber,
  open_number: lastNumber + 1,
  open_time: null,
  open_bytes: 0,
  closed_time: null,
  closed_bytes: 0,
  loose_number: lastNumber + 1,
  loose_count: 0,
  loose_bytes: 0,
})

/** The newer part becomes the older one, whose rows must be removed first. `next`: the number of the next line. */
export const closed = (head: Head, next: number): Head => ({
  ...newHead(head.log_name, head.last_number),
  open_number: next,
  closed_time: head.open_time,
  closed_bytes: head.open_bytes,
})

export async function readHeads(reader: Reader, names: readonly string[]): Promise<Map<string, Head>> {
  if (names.length === 0) return new Map()
  const found = await reader.query<Head>(statement`
    SELECT log_name, last_number, open_number, open_time, open_bytes, closed_time, closed_bytes,
      loose_number, loose_count, loose_bytes
    FROM log_heads WHERE log_name IN (${list(names)})`)
  return new Map(found.map((head) => [head.log_name, head]))
}

export const readHead = async (reader: Reader, name: string): Promise<Head | undefined> =>
  (await readHeads(reader, [name])).get(name)

export async function writeHeads(tx: Transaction, heads: readonly Head[]) {
  if (heads.length === 0) return
  const values = heads.map((head) => [
    ...[head.log_name, head.last_number, head.open_number, head.open_time, head.open_bytes],
    ...[head.closed_time, head.closed_bytes, head.loose_number, head.loose_count, head.loose_bytes],
  ])
  await tx.query(statement`
    INSERT INTO log_heads (log_name, last_number, open_number, open_time, open_bytes, closed_time, closed_bytes,
      loose_number, loose_count, loose_bytes)
    VALUES ${rows(values)}
    ON CONFLICT (log_name) DO UPDATE SET last_number = excluded.last_number, open_number = excluded.open_number,
      open_time = excluded.open_time, open_bytes = excluded.open_bytes, closed_time = excluded.closed_time,
      closed_bytes = excluded.closed_bytes, loose_number = excluded.loose_number, loose_count = excluded.loose_count,
      loose_bytes = excluded.loose_bytes`)
}

/** The names of all logs with a row; of those with an older part only, if told so. */
export async function headNames(reader: Reader, { isClosed = false } = {}): Promise<string[]> {
  const found = await reader.query<{ log_name: string }>(
    isClosed
      ? statement`SELECT log_name FROM log_heads WHERE closed_bytes > 0`
      : statement`SELECT log_name FROM log_heads`,
  )
  return found.map(({ log_name }) => log_name)
}

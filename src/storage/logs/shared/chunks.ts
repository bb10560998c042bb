/**
 * Lines in rows. Numbers are given in the transaction that writes the lines: it changes the head of the log, so two of them for one
 * log are never committed at the same time, and a reader that sees a line sees all before it.
 */
import { type Reader, rows, statement, type Transaction } from '../../sql/sql.ts'
import { renumbered } from '../line-texts.ts'
import type { WriterOptions } from '../log-set.ts'
import { closed, type Head, newHead, readHeads, writeHeads } from './heads.ts'

/** Lines that one writer adds to a log. */
export type Piece = Pick<WriterOptions, 'whenFull' | 'maxBytes'> & {
  name: string
  lines: string
  /** As the writer expects them. */
  firstNumber: number
  lastNumber: number
  firstTime: number
  /** By which the writer finds out whether the lines are there, if the answer to a commit was lost. */
  writeId: string
}

export type Written = { lastNumber: number; openBytes: number }

export type Chunk = { first_number: number; last_number: number; bytes: number; write_id: string; lines: string }

/** Small rows are merged when there are so many of them, or so many bytes in them. */
const LOOSE_COUNT = 64
const LOOSE_BYTES = 64 * 1024

/** `lastStored`: the number of the last line in the object store. */
type LastStored = (reader: Reader, name: string) => Promise<number>

export async function writePieces(
  tx: Transaction,
  pieces: readonly Piece[],
  lastStored: LastStored,
): Promise<Written[]> {
  const known = await readHeads(
    tx,
    pieces.map(({ name }) => name),
  )
  const heads: Head[] = []
  const chunks: (Chunk & { name: string })[] = []
  for (const piece of pieces) {
    const head = known.get(piece.name) ?? newHead(piece.name, await lastStored(tx, piece.name))
    const added = await addPiece(tx, head, piece)
    heads.push(added.head)
    chunks.push({ name: piece.name, ...added.chunk })
  }
  await writeHeads(tx, heads)
  await insertChunks(tx, chunks)
  return heads.map((head) => ({ lastNumber: head.last_number, openBytes: head.open_bytes }))
}

async function addPiece(tx: Transaction, before: Head, piece: Piece): Promise<{ head: Head; chunk: Chunk }> {
  const { name, maxBytes, firstTime } = piece
  const first = Math.max(piece.firstNumber, before.last_number + 1)
  const last = first + piece.lastNumber - piece.firstNumber
  const lines = first === piece.firstNumber ? piece.lines : renumbered(piece.lines, first)
  const bytes = Buffer.byteLength(lines)
  const isFull = piece.whenFull === 'rotate' && before.open_bytes > 0 && before.open_bytes + bytes > maxBytes / 2
  if (isFull) await removeOlderRows(tx, before)
  const open = isFull ? closed(before, first) : before
  const head = {
    ...open,
    last_number: last,
    open_time: open.open_time ?? firstTime,
    open_bytes: open.open_bytes + bytes,
  }
  const chunk = { first_number: first, last_number: last, bytes, write_id: piece.writeId, lines }
  const loose = { count: open.loose_count + 1, bytes: open.loose_bytes + bytes }
  if (loose.count < LOOSE_COUNT && loose.bytes < LOOSE_BYTES) {
    const loose_number = open.loose_count === 0 ? first : open.loose_number
    return { head: { ...head, loose_number, loose_count: loose.count, loose_bytes: loose.bytes }, chunk }
  }
  const small = open.loose_count > 0 ? await takeChunks(tx, name, open.loose_number) : []
  return {
    head: { ...head, loose_number: last + 1, loose_count: 0, loose_bytes: 0 },
    chunk: [...small, chunk].reduce((one, next) => ({
      ...next,
      first_number: one.first_number,
      bytes: one.bytes + next.bytes,
      lines: one.lines + next.lines,
    })),
  }
}

/** Removes the rows from this number on, and returns them in order. */
async function takeChunks(tx: Transaction, name: string, from: number): Promise<Chunk[]> {
  const taken = await tx.query<Chunk>(statement`
    DELETE FROM log_chunks WHERE log_name = ${name} AND first_number >= ${from}
    RETURNING first_number, last_number, bytes, write_id, lines`)
  return taken.toSorted((a, b) => a.first_number - b.first_number)
}

async function insertChunks(tx: Transaction, chunks: readonly (Chunk & { name: string })[]) {
  const values = chunks.map((chunk) => [
    ...[chunk.name, chunk.first_number, chunk.last_number, chunk.bytes, chunk.write_id, chunk.lines],
  ])
  await tx.query(statement`
    INSERT INTO log_chunks (log_name, first_number, last_number, bytes, write_id, lines) VALUES ${rows(values)}`)
}

/** The older part of a log. */
export async function removeOlderRows(tx: Transaction, { log_name, open_number }: Head) {
  await tx.query(statement`DELETE FROM log_chunks WHERE log_name = ${log_name} AND first_number < ${open_number}`)
}

/** Rows with lines after this number, the oldest first. */
export const chunksAfter = (reader: Reader, name: string, after: number, count: number): Promise<Chunk[]> =>
  reader.query<Chunk>(statement`
    SELECT first_number, last_number, bytes, write_id, lines FROM log_chunks
    WHERE log_name = ${name} AND first_number >= COALESCE((
      SELECT MAX(first_number) FROM log_chunks WHERE log_name = ${name} AND first_number <= ${after + 1}), 0)
      AND last_number > ${after}
    ORDER BY first_number LIMIT ${count}`)

/** Rows with lines before this number, the newest first. */
export const chunksBefore = (reader: Reader, name: string, before: number, count: number): Promise<Chunk[]> =>
  reader.query<Chunk>(statement`
    SELECT first_number, last_number, bytes, write_id, lines FROM log_chunks
    WHERE log_name = ${name} AND first_number < ${before}
    ORDER BY first_number DESC LIMIT ${count}`)

/** The number of the last line of this write; undefined if it is not there. */
export async function findWritten(reader: Reader, { name, writeId, firstNumber }: Piece): Promise<number | undefined> {
  const [chunk] = await reader.query<{ last_number: number }>(statement`
    SELECT last_number FROM log_chunks
    WHERE log_name = ${name} AND last_number >= ${firstNumber} AND write_id = ${writeId}`)
  return chunk?.last_number
}

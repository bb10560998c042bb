/**
 * Closed parts of logs in an object store. A part is the file of its lines, compressed, as a blob; a row says which lines are in
 * it. The blob is stored first, then the row is written, and the file goes last: whatever cuts this off, the lines are in the
 * file or behind a row, and a blob without a row is garbage.
 */
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { createGunzip, createGzip } from 'node:zlib'
import type { Clock } from '../../base/index.ts'
import { type Blob, BlobNotFound, type Blobs, type Digest } from '../blobs/blobs.ts'
import { collectBlobs } from '../blobs/collect.ts'
import { type Reader, type Sql, statement, type Transaction } from '../sql/sql.ts'
import { endOf, firstLineOf } from './line-files.ts'
import { type LogLine, type NumberedLine, parseLines } from './line-texts.ts'
import { isLogName } from './log-places.ts'

export type StoredPart = {
  firstNumber: number
  lastNumber: number
  digest: Digest
  /** In the store. */
  bytes: number
  storeTime: number
}

type NewPart = Blob & { name: string; firstNumber: number; lastNumber: number; isOnly: boolean }

type PartRow = { first_number: number; last_number: number; digest: Digest; bytes: number; store_time: number }

const PIECE_BYTES = 256 * 1024

export function createStoredParts({ sql, clock, blobs }: { sql: Sql; clock: Clock; blobs: Blobs }) {
  /** The parts of a log, the oldest first. */
  async function of(name: string): Promise<StoredPart[]> {
    const rows = await sql.query<PartRow>(statement`
      SELECT first_number, last_number, digest, bytes, store_time FROM stored_logs
      WHERE log_name = ${name} ORDER BY first_number`)
    return rows.map((row) => ({
      firstNumber: row.first_number,
      lastNumber: row.last_number,
      digest: row.digest,
      bytes: row.bytes,
      storeTime: row.store_time,
    }))
  }

  /** Compresses lines, and stores them. Until the part is recorded, they are garbage. */
  const put = (lines: AsyncIterable<Uint8Array>): Promise<Blob> =>
    blobs.put(pipeline(lines, createGzip(), () => undefined))

  /** `isOnly`: it takes the place of the parts before it. */
  async function record(tx: Transaction, part: NewPart) {
    const { name, firstNumber, lastNumber, digest, bytes, isOnly } = part
    const now = clock.now()
    await tx.query(statement`
      INSERT INTO stored_logs (log_name, first_number, last_number, digest, bytes, store_time)
      VALUES (${name}, ${firstNumber}, ${lastNumber}, ${digest}, ${bytes}, ${now})
      ON CONFLICT (log_name, first_number)
      DO UPDATE SET last_number = ${lastNumber}, digest = ${digest}, bytes = ${bytes}, store_time = ${now}`)
    if (isOnly)
      await tx.query(statement`DELETE FROM stored_logs WHERE log_name = ${name} AND first_number < ${firstNumber}`)
  }

  /** The next garbage collection removes the blobs. */
  async function forgetIn(tx: Transaction, name: string) {
    await tx.query(statement`DELETE FROM stored_logs WHERE log_name = ${name}`)
  }

  return {
    of,

    /** Rejects if the store is away, and leaves a copy on the disk for those who read the part next. */
    async fetch({ digest }: StoredPart) {
      await blobs.withFile(digest, async () => undefined).catch(unlessMissing)
    },

    async *pieces<Line extends NumberedLine = LogLine>(part: StoredPart): AsyncGenerator<Line[]> {
      const bytes = await blobs.open(part.digest).catch(unlessMissing)
      if (!bytes) {
        yield [missingLine(part) as NumberedLine as Line]
        return
      }
      const decoder = new StringDecoder('utf8')
      let rest = ''
      // Errors reach the reader through the last stream of the pipeline.
      const unpacked = pipeline(bytes, createGunzip({ chunkSize: PIECE_BYTES }), () => undefined)
      for await (const piece of unpacked) {
        const text = rest + decoder.write(piece)
        const end = text.lastIndexOf('\n') + 1
        rest = text.slice(end)
        const lines = parseLines<Line>(text.slice(0, end))
        if (lines.length > 0) yield lines
      }
    },

    /** Stores a file that does not change any more. `isOnly`: it takes the place of the parts before it. */
    async keep(name: string, file: string, { isOnly = false } = {}) {
      const [first, { lastNumber }] = await Promise.all([firstLineOf(file), endOf(file)])
      if (first === undefined || lastNumber === undefined) return
      const isStored = (await of(name)).some(
        (part) => part.firstNumber <= first.number && part.lastNumber >= lastNumber,
      )
      if (isStored) return
      const blob = await put(createReadStream(file))
      await sql.transaction((tx) => record(tx, { name, firstNumber: first.number, lastNumber, ...blob, isOnly }))
    },

    put,
    record,

    /** The number of the last line in the store; 0 while there is none. */
    async last(reader: Reader, name: string): Promise<number> {
      const [row] = await reader.query<{ last_number: number | null }>(
        statement`SELECT MAX(last_number) AS last_number FROM stored_logs WHERE log_name = ${name}`,
      )
      return row?.last_number ?? 0
    },

    forgetIn,
    forget: (name: string): Promise<void> => sql.transaction((tx) => forgetIn(tx, name)),

    /** The names of all logs in a folder that have parts in the store. */
    async list(parent: string): Promise<string[]> {
      const rows = await sql.query<{ log_name: string }>(statement`SELECT DISTINCT log_name FROM stored_logs`)
      const names = rows.map(({ log_name }) => log_name)
      return names.filter((name) => name.startsWith(`${parent}/`) && isLogName(name))
    },

    /** Removes blobs that no row refers to, unless `isHeld`, and returns how many. */
    collect: (isHeld: () => Promise<boolean>, isOver?: () => boolean): Promise<number> =>
      collectBlobs(
        blobs,
        async () => {
          const rows = await sql.query<{ digest: string }>(statement`SELECT DISTINCT digest FROM stored_logs`)
          return (await isHeld()) ? { has: () => true } : new Set(rows.map(({ digest }) => digest))
        },
        isOver,
      ),
  }
}

export type StoredParts = ReturnType<typeof createStoredParts>

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof BlobNotFound)) throw error
}

/** Instead of lines that were deleted from the store by others. */
const missingLine = ({ firstNumber, lastNumber, storeTime }: StoredPart): LogLine => ({
  number: lastNumber,
  time: storeTime,
  stream: 'service',
  phase: '',
  text: `Lines ${firstNumber} to ${lastNumber} are missing: the object store does not have them any more.`,
})

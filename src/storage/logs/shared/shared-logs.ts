/**
 * Logs that every process of a cluster writes, reads and follows: lines are rows of the database, and closed parts are in the object
 * store. Only the place of the lines differs from logs in files.
 */
import type { Clock } from '../../../base/index.ts'
import { type Reader, type Sql, StorageUnavailable, statement } from '../../sql/sql.ts'
import { type LogLine, type NumberedLine, parseLines } from '../line-texts.ts'
import { checkedLogName, isLogName } from '../log-places.ts'
import { createLogSet, type LineLogs } from '../log-set.ts'
import type { StoredPart, StoredParts } from '../stored-parts.ts'
import { createBatches } from './batches.ts'
import { createChunkPlace } from './chunk-place.ts'
import {
  chunksAfter,
  chunksBefore,
  findWritten,
  type Piece,
  removeOlderRows,
  type Written,
  writePieces,
} from './chunks.ts'
import { closed, type Head, headNames, readHead, writeHeads } from './heads.ts'

type Parts = {
  sql: Sql
  clock: Clock
  /** Closed parts in an object store; without it, all lines are in rows. */
  stored?: Pick<StoredParts, 'of' | 'last' | 'fetch' | 'pieces' | 'forgetIn' | 'list'> | undefined
}

/** So many rows are read at a time. */
const PAGE = 16

export function createSharedLogs({ sql, clock, stored }: Parts): LineLogs {
  const storedOf = async (name: string): Promise<StoredPart[]> => (await stored?.of(name)) ?? []
  const lastStored = async (reader: Reader, name: string): Promise<number> => (await stored?.last(reader, name)) ?? 0

  const batches = createBatches<Piece, Written>({
    clock,
    write: (pieces) => sql.transaction((tx) => writePieces(tx, pieces, lastStored)),
  })

  /**
   * Rows are read before the list of parts: lines only move from rows to the store, so none is missed. Those that are read twice have
   * the same numbers.
   */
  async function* pieces<Line extends NumberedLine = LogLine>(name: string, after: number): AsyncGenerator<Line[]> {
    let last = after
    function fresh(lines: Line[]): Line[] {
      const found = lines.filter(({ number }) => number > last)
      last = found.at(-1)?.number ?? last
      return found
    }
    for (;;) {
      const chunks = await chunksAfter(sql, name, last, PAGE)
      const next = chunks[0]?.first_number ?? Number.POSITIVE_INFINITY
      const part = next > last + 1 ? missingIn(next, await storedOf(name), last)[0] : undefined
      if (part) {
        for await (const lines of stored?.pieces<Line>(part) ?? []) yield* nonEmpty(fresh(lines))
        last = Math.max(last, part.lastNumber)
        continue
      }
      for (const { lines } of chunks) yield* nonEmpty(fresh(parseLines<Line>(lines)))
      if (chunks.length < PAGE) return
    }
  }

  /** If the head is as wanted, changes it and the rows; `change` is called again after a conflict. */
  async function changeHead(name: string, isDue: (head: Head) => boolean, change: (head: Head) => Head) {
    const seen = await readHead(sql, name)
    if (!seen || !isDue(seen)) return
    await sql.transaction(async (tx) => {
      const head = await readHead(tx, name)
      if (!head || !isDue(head)) return
      await removeOlderRows(tx, head)
      await writeHeads(tx, [change(head)])
    })
  }

  return createLogSet(
    {
      pieces,

      /** Of lines in rows only: logs that are read so are not moved to the store. */
      async *backwards<Line extends NumberedLine>(name: string, before: number) {
        let last = Math.min(before, Number.MAX_SAFE_INTEGER)
        for (;;) {
          const chunks = await chunksBefore(sql, name, last, PAGE)
          for (const { lines } of chunks) {
            const earlier = parseLines<Line>(lines).filter(({ number }) => number < last)
            last = earlier[0]?.number ?? last
            if (earlier.length > 0) yield earlier.reverse()
          }
          if (chunks.length < PAGE) return
        }
      },

      /** Where the database is away, numbers are known with the first lines that are written. */
      async open(name, options) {
        const head = await readHead(sql, checkedLogName(name)).catch(unlessAway)
        const last = head?.last_number ?? (await lastStored(sql, name).catch(unlessAway)) ?? 0
        const place = createChunkPlace({
          ...options,
          name,
          batches,
          bytes: head?.open_bytes ?? 0,
          find: (piece) => findWritten(sql, piece),
          rotateBefore: (time) =>
            changeHead(
              name,
              ({ open_time }) => open_time !== null && open_time < time,
              (found) => closed(found, found.last_number + 1),
            ),
        })
        return { place, lastNumber: last > 0 ? last : options.firstNumber - 1 }
      },

      async tail(name) {
        return {
          async read<Line extends NumberedLine>(after: number) {
            const head = await readHead(sql, name)
            if (head && head.last_number <= after) return { lines: [], isMore: false }
            for await (const lines of pieces<Line>(name, after)) return { lines, isMore: true }
            return { lines: [], isMore: false }
          },
          close: async () => undefined,
        }
      },

      removeOlder: (name, time) =>
        changeHead(
          name,
          ({ closed_time }) => closed_time !== null && closed_time < time,
          (head) => ({ ...head, closed_time: null, closed_bytes: 0 }),
        ),

      async lastNumber(name) {
        return (await readHead(sql, name))?.last_number ?? lastStored(sql, name)
      },
      async nextNumber(name) {
        return (await lastStored(sql, name)) + 1
      },
      async fetch(name, after) {
        const [chunk] = await chunksAfter(sql, name, after, 1)
        const next = chunk?.first_number ?? Number.POSITIVE_INFINITY
        for (const part of missingIn(next, await storedOf(name), after)) await stored?.fetch(part)
      },
      async bytesOf(name) {
        const head = await readHead(sql, name)
        const inStore = (await storedOf(name)).map(({ bytes }) => bytes)
        return inStore.reduce((sum, bytes) => sum + bytes, (head?.open_bytes ?? 0) + (head?.closed_bytes ?? 0))
      },

      async remove(name) {
        checkedLogName(name)
        await sql.transaction(async (tx) => {
          await tx.query(statement`DELETE FROM log_heads WHERE log_name = ${name}`)
          await tx.query(statement`DELETE FROM log_chunks WHERE log_name = ${name}`)
          await stored?.forgetIn(tx, name)
        })
      },

      async list(parent) {
        const names = (await headNames(sql)).filter((name) => name.startsWith(`${parent}/`) && isLogName(name))
        return [...new Set([...names, ...((await stored?.list(parent)) ?? [])])]
      },
    },
    clock,
  )
}

/** Parts with lines after `after` of which not all are in rows, the first of which begins with `next`. */
const missingIn = (next: number, parts: readonly StoredPart[], after: number): StoredPart[] =>
  parts.filter(({ firstNumber, lastNumber }) => lastNumber > after && firstNumber < next)

function unlessAway(error: unknown): undefined {
  if (!(error instanceof StorageUnavailable)) throw error
}

function* nonEmpty<Line>(lines: Line[]): Generator<Line[]> {
  if (lines.length > 0) yield lines
}

/**
 * Moves closed rows of logs to the object store. The blob is stored first; then one transaction records it and removes the rows. If
 * anything has changed meanwhile, because another process moved them or the log was removed, it does nothing, and the blob is garbage
 * or is that of the other process.
 */
import type { Sql, Transaction } from '../../sql/sql.ts'
import { statement } from '../../sql/sql.ts'
import type { LogMoving } from '../log-moving.ts'
import { isLogName } from '../log-places.ts'
import type { StoredParts } from '../stored-parts.ts'
import { chunksAfter } from './chunks.ts'
import { type Head, headNames, readHead } from './heads.ts'

type Parts = { sql: Sql; stored: Pick<StoredParts, 'put' | 'record'> }

/** So many rows are read at a time. */
const PAGE = 16

class Changed extends Error {}

export function createChunkMoving({ sql, stored }: Parts): LogMoving {
  /** The lines in the rows before this number. */
  async function* linesBefore(name: string, end: number, seen: { count: number; first: number; last: number }) {
    for (;;) {
      const chunks = await chunksAfter(sql, name, seen.last, PAGE)
      const closed = chunks.filter(({ first_number }) => first_number < end)
      for (const { first_number, last_number, lines } of closed) {
        if (seen.count === 0) seen.first = first_number
        seen.count += 1
        seen.last = last_number
        yield Buffer.from(lines)
      }
      if (closed.length < PAGE) return
    }
  }

  async function move(head: Head, end: number, finish: (tx: Transaction) => Promise<unknown[]>, isOnly: boolean) {
    const name = head.log_name
    const seen = { count: 0, first: 0, last: 0 }
    const [first] = await chunksAfter(sql, name, 0, 1)
    if (!first || first.first_number >= end) return
    const blob = await stored.put(linesBefore(name, end, seen))
    await sql
      .transaction(async (tx) => {
        const gone = await tx.query<{ last_number: number }>(statement`
          DELETE FROM log_chunks WHERE log_name = ${name} AND first_number < ${end} RETURNING last_number`)
        const last = Math.max(...gone.map(({ last_number }) => last_number))
        if (gone.length !== seen.count || last !== seen.last || (await finish(tx)).length !== 1) throw new Changed()
        await stored.record(tx, { name, firstNumber: seen.first, lastNumber: seen.last, ...blob, isOnly })
      })
      .catch((error) => {
        if (!(error instanceof Changed)) throw error
      })
  }

  return {
    isShared: true,

    async list(parent, options) {
      return (await headNames(sql, options)).filter((name) => name.startsWith(`${parent}/`) && isLogName(name))
    },

    async moveWhole(name) {
      const head = await readHead(sql, name)
      if (!head) return
      const end = head.last_number + 1
      const finish = (tx: Transaction) =>
        tx.query(statement`
          DELETE FROM log_heads WHERE log_name = ${name} AND last_number = ${head.last_number} RETURNING log_name`)
      if (head.open_bytes + head.closed_bytes === 0) await sql.transaction(finish)
      else await move(head, end, finish, false)
    },

    async moveClosed(name) {
      const head = await readHead(sql, name)
      if (!head) return
      const end = head.open_number
      await move(
        head,
        end,
        (tx) =>
          tx.query(statement`
            UPDATE log_heads SET closed_bytes = 0, closed_time = NULL
            WHERE log_name = ${name} AND open_number = ${end} AND closed_bytes > 0 RETURNING log_name`),
        true,
      )
    },
  }
}

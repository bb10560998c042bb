/**
 * The rows of values, and their sums for each environment. Every write is one transaction that leaves an environment within its
 * limit, whichever process wrote to it before.
 */
import { type Digest, list, type Reader, type Sql, statement, type Transaction } from '../../storage/index.ts'
import { BLOCK_BYTES } from '../file.ts'
import { type Growth, NOTE_USE_AFTER_MS } from '../kv.ts'
import type { Body } from './bodies.ts'

export type ValueAt = { environmentId: string; name: string }
export type ValueRow = Body & { bytes: number; storeTime: number; useTime: number }

/** `max`: how much all values together may take afterwards; without it, no more than before. */
type Wanted = ValueAt & { bytes: number; max: number | undefined }

/** What a write changes: the values that go, up to one in the order of use, and how much more there is. */
type Change = {
  last: { use_time: number; name: string } | undefined
  growth: Growth
  replaced: Digest[]
  before: Growth
}

export type Write = Wanted & { body: Body; storeTime: number; useTime: number; isUnlessNewer?: boolean }

/** `absent`: there is no such environment; `full`: the value does not fit; `newer`: a newer value is there. */
export type Written =
  | { isDone: true; growth: Growth; gone: Digest[] }
  | { isDone: false; why: 'absent' | 'full' | 'newer' }

type SumRow = {
  bytes: number
  value_count: number
  old_bytes: number | null
  digest: Digest | null
  store_time: number
}

/** Digests that are looked for in one statement. */
const DIGESTS_AT_ONCE = 500

type Parts = {
  sql: Sql
  /** Whether an environment exists. */
  exists(reader: Reader, environmentId: string): Promise<boolean>
}

export function createValueRows({ sql, exists }: Parts) {
  async function sumOf(reader: Reader, { environmentId, name }: ValueAt) {
    const [row] = await reader.query<SumRow>(statement`
      SELECT s.bytes, s.value_count, v.bytes AS old_bytes, v.digest, v.store_time FROM kv_stores s
      LEFT JOIN kv_values v ON v.environment_id = s.environment_id AND v.name = ${name}
      WHERE s.environment_id = ${environmentId}`)
    const old = row && row.old_bytes !== null ? { ...row, bytes: row.old_bytes } : undefined
    return { bytes: row?.bytes ?? 0, files: row?.value_count ?? 0, old }
  }

  type Sum = Awaited<ReturnType<typeof sumOf>>

  /** Removes the least recently used until what is left is within the maximum; the new value itself always stays. */
  async function changeFor(reader: Reader, { environmentId, name, bytes, max }: Wanted, sum: Sum): Promise<Change> {
    const { old, bytes: before, files } = sum
    const excess = before - (old?.bytes ?? 0) + bytes - (max ?? before)
    const growth = { bytes: bytes - (old?.bytes ?? 0), files: old ? 0 : 1 }
    const replaced = old?.digest ? [old.digest] : []
    const change: Change = { last: undefined, growth, replaced, before: { bytes: before, files } }
    if (excess <= 0) return change
    // Every value takes a block at least.
    const oldest = await reader.query<{ name: string; bytes: number; use_time: number }>(statement`
      SELECT name, bytes, use_time FROM kv_values WHERE environment_id = ${environmentId} AND name <> ${name}
      ORDER BY use_time, name LIMIT ${Math.ceil(excess / BLOCK_BYTES)}`)
    let freed = 0
    for (const one of oldest) {
      if (freed >= excess) break
      freed += one.bytes
      growth.files -= 1
      change.last = one
    }
    growth.bytes -= freed
    return change
  }

  async function setSum(tx: Transaction, environmentId: string, { bytes, files }: Growth) {
    await tx.query(statement`
      INSERT INTO kv_stores (environment_id, bytes, value_count) VALUES (${environmentId}, ${bytes}, ${files})
      ON CONFLICT (environment_id) DO UPDATE SET bytes = ${bytes}, value_count = ${files}`)
  }

  return {
    async find({ environmentId, name }: ValueAt): Promise<ValueRow | undefined> {
      const [row] = await sql.query<Body & { bytes: number; store_time: number; use_time: number }>(statement`
        SELECT bytes, digest, body, store_time, use_time FROM kv_values
        WHERE environment_id = ${environmentId} AND name = ${name}`)
      if (!row) return undefined
      const { store_time: storeTime, use_time: useTime, ...rest } = row
      return { ...rest, storeTime, useTime }
    },

    /** Without its body. */
    async factsOf({ environmentId, name }: ValueAt): Promise<{ bytes: number; storeTime: number } | undefined> {
      const [row] = await sql.query<{ bytes: number; store_time: number }>(statement`
        SELECT bytes, store_time FROM kv_values WHERE environment_id = ${environmentId} AND name = ${name}`)
      return row && { bytes: row.bytes, storeTime: row.store_time }
    },

    /** By how much a write would make the store of an environment grow now. */
    async growthFor(wanted: Wanted): Promise<Growth> {
      return (await changeFor(sql, wanted, await sumOf(sql, wanted))).growth
    },

    async write(tx: Transaction, write: Write): Promise<Written> {
      const { environmentId, name, bytes, body, storeTime, useTime } = write
      if (!(await exists(tx, environmentId))) return { isDone: false, why: 'absent' }
      const sum = await sumOf(tx, write)
      if (write.isUnlessNewer && sum.old && sum.old.store_time >= storeTime) return { isDone: false, why: 'newer' }
      const { last, growth, replaced, before } = await changeFor(tx, write, sum)
      if (write.max === undefined && growth.bytes > 0) return { isDone: false, why: 'full' }
      const gone = last
        ? await tx.query<{ digest: Digest | null }>(statement`
            DELETE FROM kv_values WHERE environment_id = ${environmentId} AND name <> ${name}
            AND (use_time, name) <= (${last.use_time}, ${last.name}) RETURNING digest`)
        : []
      await tx.query(statement`
        INSERT INTO kv_values (environment_id, name, bytes, digest, body, store_time, use_time)
        VALUES (${environmentId}, ${name}, ${bytes}, ${body.digest}, ${body.body}, ${storeTime}, ${useTime})
        ON CONFLICT (environment_id, name) DO UPDATE SET bytes = ${bytes}, digest = ${body.digest},
          body = ${body.body}, store_time = ${storeTime}, use_time = ${useTime}`)
      await setSum(tx, environmentId, { bytes: before.bytes + growth.bytes, files: before.files + growth.files })
      return { isDone: true, growth, gone: [...replaced, ...gone.flatMap(({ digest }) => digest ?? [])] }
    },

    async noteUse(tx: Transaction, { environmentId, name }: ValueAt, now: number) {
      await tx.query(statement`
        UPDATE kv_values SET use_time = ${now}
        WHERE environment_id = ${environmentId} AND name = ${name} AND use_time <= ${now - NOTE_USE_AFTER_MS}`)
    },

    /** Removes the row of a value whose blob is lost, unless it has another one by now. */
    async forget(tx: Transaction, { environmentId, name }: ValueAt, digest: Digest) {
      const sum = await sumOf(tx, { environmentId, name })
      if (sum.old?.digest !== digest) return
      await tx.query(statement`DELETE FROM kv_values WHERE environment_id = ${environmentId} AND name = ${name}`)
      await setSum(tx, environmentId, { bytes: sum.bytes - sum.old.bytes, files: sum.files - 1 })
    },

    /** What all values of an environment take. */
    async sizeOf(environmentId: string): Promise<Growth> {
      const [row] = await sql.query<{ bytes: number; value_count: number }>(
        statement`SELECT bytes, value_count FROM kv_stores WHERE environment_id = ${environmentId}`,
      )
      return { bytes: row?.bytes ?? 0, files: row?.value_count ?? 0 }
    },

    /** Those of the digests that a row refers to. */
    async digestsIn(digests: readonly Digest[]): Promise<Set<string>> {
      const found = new Set<string>()
      for (let from = 0; from < digests.length; from += DIGESTS_AT_ONCE) {
        const some = digests.slice(from, from + DIGESTS_AT_ONCE)
        const rows = await sql.query<{ digest: string }>(
          statement`SELECT digest FROM kv_values WHERE digest IN (${list(some)})`,
        )
        for (const { digest } of rows) found.add(digest)
      }
      return found
    },
  }
}

export type ValueRows = ReturnType<typeof createValueRows>

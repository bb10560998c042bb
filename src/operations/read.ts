/** Reads operations: one by its path, pages of them, and those of an environment that are not done. */
import { names, Problem, type resources } from '../contract/index.ts'
import {
  list,
  type Page,
  type PageOf,
  pageOf,
  pageWithin,
  type Reader,
  type Sql,
  statement,
  type Transaction,
} from '../storage/index.ts'
import { columns, matching, type OperationRow, toRecord } from './rows.ts'
import {
  BUILD_QUEUES,
  type Operation,
  type OperationPath,
  type OperationRecord,
  QUEUES,
  type ReadDescriptions,
} from './types.ts'

/** Limit for the responses on one page: each may show the names of all variables of its environment. */
const PAGE_BYTES = 1024 * 1024

export type Describe = (reader: Reader, records: readonly OperationRecord[]) => Promise<Operation[]>

/** Adds the descriptions of archives, with one look-up for all of them. */
export const createDescribe =
  (readDescriptions: ReadDescriptions): Describe =>
  async (reader, records) => {
    const builds = new Set(records.map(({ build }) => build).filter((build) => build !== names.NO_BUILD))
    const found = builds.size === 0 ? undefined : await readDescriptions(reader, [...builds])
    return records.map((record) => {
      const { message = '', commit = null } = found?.get(record.build) ?? {}
      return { ...record, message, commit }
    })
  }

export function createReads({ sql, describe }: { sql: Sql; describe: Describe }) {
  async function first(reader: Reader, query: ReturnType<typeof statement>): Promise<Operation | undefined> {
    const rows = await reader.query<OperationRow>(query)
    return (await describe(reader, rows.slice(0, 1).map(toRecord)))[0]
  }

  const described = async (reader: Reader, record: OperationRecord): Promise<Operation> =>
    (await describe(reader, [record]))[0] as Operation

  /**
   * The build of this environment that waits and was never begun: there is at most one. A build that a worker handed back
   * half done does not count, as it may have read content that changed since; nor does one that is to be cancelled.
   */
  async function waitingRecord(
    tx: Transaction,
    { accountId, environmentId }: OperationPath,
  ): Promise<OperationRecord | undefined> {
    const [row] = await tx.query<OperationRow>(statement`
      SELECT ${columns} FROM operations
      WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND done_time IS NULL
      AND queue IN (${list(BUILD_QUEUES)}) AND attempts = 0 AND lease_owner IS NULL AND phase = 'QUEUED'
      AND cancel_time IS NULL
      ORDER BY id DESC LIMIT 1`)
    return row && toRecord(row)
  }

  async function require(path: OperationPath, id: string, reader: Reader = sql): Promise<Operation> {
    const found = await first(
      reader,
      statement`SELECT ${columns} FROM operations WHERE id = ${id} AND ${matching(path)}`,
    )
    if (!found) throw new Problem('OPERATION_NOT_FOUND')
    return found
  }

  return {
    require,

    /** The operation that does the work of this one: itself, or the one that took its place. */
    async requireDoing(path: OperationPath, id: string): Promise<Operation> {
      const doing = await first(
        sql,
        statement`
        SELECT ${columns} FROM operations
        WHERE id = (SELECT COALESCE(satisfied_by, id) FROM operations WHERE id = ${id}) AND ${matching(path)}`,
      )
      return doing ?? require(path, id)
    },

    /** A page ends early if the responses on it are long. */
    async list(path: OperationPath, page: Page): Promise<PageOf<Operation>> {
      const keys = await sql.query<{ id: string; bytes: number }>(statement`
        SELECT id, COALESCE(octet_length(response), 0) AS bytes FROM operations
        WHERE ${matching(path)} AND ${page.after} ${page.order}`)
      // Every environment has at least the operation that created it, even after it was deleted.
      if (keys.length === 0 && !page.isResumed) throw new Problem('ENVIRONMENT_NOT_FOUND')
      const { items, nextPageToken } = pageWithin(keys, page, PAGE_BYTES)
      if (items.length === 0) return { items: [], nextPageToken }
      const ids = items.map(({ id }) => id)
      const rows = await sql.query<OperationRow>(statement`
        SELECT ${columns} FROM operations WHERE id IN (${list(ids)})`)
      const found = new Map((await describe(sql, rows.map(toRecord))).map((operation) => [operation.id, operation]))
      return { items: ids.flatMap((id) => found.get(id) ?? []), nextPageToken }
    },

    /** Those of an account that run or wait; without those whose work is done by another one. */
    async running(accountId: string, page: Page): Promise<PageOf<Operation>> {
      const rows = await sql.query<OperationRow>(statement`
        SELECT ${columns} FROM operations
        WHERE queue IN (${list(QUEUES)}) AND account_id = ${accountId} AND done_time IS NULL
        AND ${page.after} ${page.order}`)
      const { items, nextPageToken } = pageOf(rows, page)
      return { items: await describe(sql, items.map(toRecord)), nextPageToken }
    },

    async unfinishedOf(reader: Reader, environmentId: string): Promise<OperationRecord[]> {
      const rows = await reader.query<OperationRow>(
        statement`SELECT ${columns} FROM operations WHERE environment_id = ${environmentId} AND done_time IS NULL`,
      )
      return rows.map(toRecord)
    },

    unfinished: (tx: Transaction, path: OperationPath, trigger: resources.Trigger): Promise<Operation | undefined> =>
      first(
        tx,
        statement`
        SELECT ${columns} FROM operations
        WHERE ${matching(path)} AND trigger_name = ${trigger} AND done_time IS NULL ORDER BY id LIMIT 1`,
      ),

    /** With `described`, which can be asked for beside other queries, the same as `waitingBuild`. */
    waitingRecord,
    described,

    waitingBuild: async (tx: Transaction, path: OperationPath): Promise<Operation | undefined> => {
      const waiting = await waitingRecord(tx, path)
      return waiting && described(tx, waiting)
    },
  }
}

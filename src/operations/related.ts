/** What records of other modules want to know about the operations that they name, for many ids in one statement. */
import type { resources } from '../contract/index.ts'
import { list, type Reader, type Sql, statement } from '../storage/index.ts'

export type OperationOrigin = { trigger: resources.Trigger; requestedBy: resources.Requester | null }

/** A statement takes a limited number of values. */
const MAX_SATISFIED = 10_000

export const createRelated = (sql: Sql) => ({
  /** The deployment that was live when this operation had ended; an empty string if there was none. */
  async deploymentLeftBy(id: string, reader: Reader = sql): Promise<string | undefined> {
    const [row] = await reader.query<{ deployment: string }>(
      statement`SELECT deployment FROM operations WHERE id = ${id}`,
    )
    return row?.deployment
  },

  /** What was asked for and by whom, by the id of the operation. */
  async originsOf(ids: readonly string[], reader: Reader = sql): Promise<Map<string, OperationOrigin>> {
    if (ids.length === 0) return new Map()
    const rows = await reader.query<{ id: string; trigger_name: resources.Trigger; requested_by: string | null }>(
      statement`SELECT id, trigger_name, requested_by FROM operations WHERE id IN (${list(ids)})`,
    )
    return new Map(
      rows.map(({ id, trigger_name, requested_by }) => [
        id,
        { trigger: trigger_name, requestedBy: requested_by === null ? null : JSON.parse(requested_by) },
      ]),
    )
  },

  /** Who requested each of these operations, if that is recorded. */
  async requestersOf(reader: Reader, ids: readonly string[]): Promise<Map<string, resources.Requester>> {
    if (ids.length === 0) return new Map()
    const rows = await reader.query<{ id: string; requested_by: string }>(
      statement`SELECT id, requested_by FROM operations WHERE id IN (${list(ids)}) AND requested_by IS NOT NULL`,
    )
    return new Map(rows.map(({ id, requested_by }) => [id, JSON.parse(requested_by)]))
  },

  /** The operations that do the work of others, by the id of the other one. Operations that do their own are left out. */
  async satisfiersOf(ids: readonly string[], reader: Reader = sql): Promise<Map<string, string>> {
    if (ids.length === 0) return new Map()
    const rows = await reader.query<{ id: string; satisfied_by: string }>(
      statement`SELECT id, satisfied_by FROM operations WHERE id IN (${list(ids)}) AND satisfied_by IS NOT NULL`,
    )
    return new Map(rows.map(({ id, satisfied_by }) => [id, satisfied_by]))
  },

  /** The newest operations whose work this one does, without itself. */
  async satisfiedBy(id: string, reader: Reader = sql): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      statement`SELECT id FROM operations WHERE satisfied_by = ${id} ORDER BY id DESC LIMIT ${MAX_SATISFIED}`,
    )
    return rows.map((row) => row.id)
  },

  /** Those of the given operations that are not done. */
  async unfinishedAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const rows = await reader.query<{ id: string }>(
      statement`SELECT id FROM operations WHERE id IN (${list(ids)}) AND done_time IS NULL`,
    )
    return new Set(rows.map(({ id }) => id))
  },
})

/** Undefined if there is none. */
export async function newestOperationId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM operations`)
  return row?.id ?? undefined
}

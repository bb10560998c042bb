/**
 * Purges that come from outside of the edge: asked for by a caller, an app or a webhook. Each is done when the edge says so,
 * and only then written down, for whoever wants to know why a page is new. The newest of each environment are kept.
 */
import type { Environment } from '../apps/index.ts'
import type { Clock, NewId } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import type { Edge } from '../edge/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'

/** Everything of the environment where neither is given; where one is, what has one of its entries. */
export type Purged = { paths?: readonly string[]; tags?: readonly string[] }

export type PurgeRecord = {
  id: string
  source: resources.PurgeSource
  /** With the first entries of each only. */
  what: Purged
  /** Of all entries; 0 where everything was purged. */
  count: number
  time: number
}

type Row = { id: string; source: resources.PurgeSource; what: string; purge_time: number }

const KEPT = 100
const ENTRIES_KEPT = 20
const ENTRY_LENGTH_KEPT = 200

/** An edge that died is back within this; callers do not wait for much longer. */
const PATIENCE_MS = 5000
const RETRY_AFTER_SECONDS = 5

type Parts = { sql: Sql; clock: Clock; newId: NewId; edge: Pick<Edge, 'purge'> }

export function createPurges({ sql, clock, newId, edge }: Parts) {
  /** Resolves when no request that comes from now on is answered with what is to go. */
  async function atEdge({ id }: Pick<Environment, 'id'>, { paths, tags }: Purged) {
    const done = new AbortController()
    const late = new AbortController()
    clock.sleep(PATIENCE_MS, done.signal).then(() => late.abort())
    try {
      const given = { ...(paths?.length ? { paths } : {}), ...(tags?.length ? { tags } : {}) }
      await edge.purge({ environment: id, ...given }, late.signal)
    } catch (error) {
      if (!late.signal.aborted) throw error
      throw new Problem('PURGE_NOT_CONFIRMED', undefined, { retryAfterSeconds: RETRY_AFTER_SECONDS })
    } finally {
      done.abort()
    }
  }

  /** Nothing is written for an environment that is gone meanwhile. */
  async function record(tx: Transaction, { id }: Pick<Environment, 'id'>, what: Purged, source: resources.PurgeSource) {
    await tx.query(statement`
      INSERT INTO purges (id, environment_id, source, what, purge_time)
      SELECT ${newId()}, id, ${source}, ${JSON.stringify(abridge(what))}, ${clock.now()}
      FROM environments WHERE id = ${id}`)
    await tx.query(statement`
      DELETE FROM purges WHERE environment_id = ${id} AND id <= (
        SELECT id FROM purges WHERE environment_id = ${id} ORDER BY id DESC LIMIT 1 OFFSET ${KEPT})`)
  }

  return {
    atEdge,
    record,

    /** Done and written down when it resolves. Lists that are given and empty purge nothing, and not everything. */
    async purge(environment: Pick<Environment, 'id'>, what: Purged, source: resources.PurgeSource): Promise<void> {
      if (isOfNothing(what)) return
      await atEdge(environment, what)
      await sql.transaction((tx) => record(tx, environment, what, source))
    },

    /** The newest first. */
    async last(environmentId: string, count = KEPT): Promise<PurgeRecord[]> {
      const rows = await sql.query<Row>(statement`
        SELECT id, source, what, purge_time FROM purges
        WHERE environment_id = ${environmentId} ORDER BY id DESC LIMIT ${count}`)
      return rows.map(({ id, source, what, purge_time }) => ({ id, source, ...JSON.parse(what), time: purge_time }))
    },
  }
}

export type Purges = ReturnType<typeof createPurges>

export const isOfNothing = ({ paths, tags }: Purged): boolean =>
  (paths !== undefined || tags !== undefined) && (paths?.length ?? 0) + (tags?.length ?? 0) === 0

/** So that a record is small, whatever was purged. */
function abridge({ paths, tags }: Purged): Pick<PurgeRecord, 'what' | 'count'> {
  const shorten = (entries: readonly string[], most: number) =>
    entries.slice(0, most).map((entry) => entry.slice(0, ENTRY_LENGTH_KEPT).toWellFormed())
  const shownPaths = shorten(paths ?? [], ENTRIES_KEPT)
  const shownTags = shorten(tags ?? [], ENTRIES_KEPT - shownPaths.length)
  return {
    what: { ...(paths ? { paths: shownPaths } : {}), ...(tags ? { tags: shownTags } : {}) },
    count: (paths?.length ?? 0) + (tags?.length ?? 0),
  }
}

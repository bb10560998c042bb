/** Reads and lists the records of builds. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../base/index.ts'
import { Problem, type resources } from '../../contract/index.ts'
import { contactKey } from '../../engines/index.ts'
import {
  type Digest,
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  rows,
  type Sql,
  statement,
} from '../../storage/index.ts'
import { needsPrograms } from '../plan/plan.ts'
import type { Exact } from '../toolchain/exact.ts'
import {
  type Build,
  type BuildPath,
  type BuildRow,
  type Contacts,
  columns,
  type LatestBuild,
  type LatestRow,
  toBuild,
  toLatest,
} from './build.ts'

export type ReadParts = {
  sql: Sql
  clock: Clock
  /** Who requested each of these operations, where that is recorded. */
  requestersOf(reader: Reader, operationIds: readonly string[]): Promise<ReadonlyMap<string, resources.Requester>>
}

const PREDECESSORS = 10

/** So many plans are parsed before other work of the process gets a turn. */
const ROWS_AT_A_TIME = 20

export function createBuildReads({ sql, clock, requestersOf }: ReadParts) {
  async function asBuilds(reader: Reader, found: readonly BuildRow[]): Promise<Build[]> {
    if (found.length === 0) return []
    const operationIds = found.map(({ operation_id }) => operation_id)
    const requesters = await requestersOf(reader, operationIds)
    const builds: Build[] = []
    for (const row of found) {
      if (builds.length % ROWS_AT_A_TIME === ROWS_AT_A_TIME - 1) await turn()
      builds.push(toBuild(row, requesters.get(row.operation_id) ?? null, clock.now()))
    }
    return builds
  }

  return {
    async require({ accountId, environmentId }: BuildPath, id: string, reader: Reader = sql): Promise<Build> {
      const found = await reader.query<BuildRow>(statement`
        SELECT ${columns}, contacts FROM builds
        WHERE id = ${id} AND account_id = ${accountId} AND environment_id = ${environmentId}`)
      const [build] = await asBuilds(reader, found)
      if (!build) throw new Problem('BUILD_NOT_FOUND')
      return build
    },

    /** Whether no worker will work on it again: it ended, or its environment is gone. */
    async isOver(id: string): Promise<boolean> {
      const [row] = await sql.query<{ finish_time: number | null }>(
        statement`SELECT finish_time FROM builds WHERE id = ${id}`,
      )
      return row === undefined || row.finish_time !== null
    },

    async ofOperation(reader: Reader, operationId: string): Promise<Build | undefined> {
      const found = await reader.query<BuildRow>(
        statement`SELECT ${columns} FROM builds WHERE operation_id = ${operationId}`,
      )
      return (await asBuilds(reader, found))[0]
    },

    /** Whether its last build that was planned ran a program of the app; false where none was planned. */
    async lastNeededPrograms(reader: Reader, environmentId: string): Promise<boolean> {
      const [row] = await reader.query<{ plan: string }>(statement`
        SELECT plan FROM builds WHERE environment_id = ${environmentId} AND plan IS NOT NULL ORDER BY id DESC LIMIT 1`)
      return row !== undefined && needsPrograms(JSON.parse(row.plan))
    },

    async list({ accountId, environmentId }: BuildPath, page: Page): Promise<PageOf<Build>> {
      const found = await sql.query<BuildRow>(statement`
        SELECT ${columns} FROM builds
        WHERE account_id = ${accountId} AND environment_id = ${environmentId} AND ${page.after} ${page.order}`)
      return pageOf(await asBuilds(sql, found), page)
    },

    /** The newest of each environment, for as many as a page has: one statement, without plans. */
    async latestOf(environmentIds: readonly string[]): Promise<Map<string, LatestBuild>> {
      if (environmentIds.length === 0) return new Map()
      const found = await sql.query<LatestRow>(statement`
        SELECT id, environment_id, trigger_name, state, phase, failure, is_held, held_reason, create_time, finish_time FROM builds
        WHERE id IN (
          SELECT (SELECT MAX(b.id) FROM builds b WHERE b.environment_id = wanted.column1)
          FROM (VALUES ${rows(environmentIds.map((id) => [id]))}) AS wanted)`)
      return new Map(found.map((row) => [row.environment_id, toLatest(row)]))
    },

    async all({ accountId, environmentId }: BuildPath): Promise<Pick<Build, 'id'>[]> {
      return sql.query<{ id: string }>(
        statement`SELECT id FROM builds WHERE account_id = ${accountId} AND environment_id = ${environmentId}`,
      )
    },

    /** Outputs that no build of another environment has too. */
    async outputsOnlyOf({ environmentId }: BuildPath): Promise<Digest[]> {
      const found = await sql.query<{ output_digest: Digest }>(statement`
        SELECT DISTINCT output_digest FROM builds mine
        WHERE environment_id = ${environmentId} AND output_digest IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM builds other
          WHERE other.output_digest = mine.output_digest AND other.environment_id <> ${environmentId})`)
      return found.map(({ output_digest }) => output_digest)
    },

    /** The keys of all contacts of the last few builds before it: a build that installs nothing does not contact the registry. */
    async contactsBefore(environmentId: string, id: string): Promise<ReadonlySet<string> | undefined> {
      const before = await sql.query<{ id: string }>(statement`
        SELECT id FROM builds WHERE environment_id = ${environmentId} AND id < ${id} AND contacts IS NOT NULL
        ORDER BY id DESC LIMIT ${PREDECESSORS}`)
      const keys = new Set<string>()
      // One at a time, so that other work gets a turn between two large records.
      for (const { id } of before) {
        const [row] = await sql.query<{ contacts: string | null }>(
          statement`SELECT contacts FROM builds WHERE id = ${id}`,
        )
        for (const contact of JSON.parse(row?.contacts ?? '[]') as Contacts) keys.add(contactKey(contact))
      }
      return before.length === 0 ? undefined : keys
    },

    /** What the environment's last build was made with. */
    async lastTools(environmentId: string): Promise<Exact | undefined> {
      const [row] = await sql.query<{ tools: string }>(statement`
        SELECT tools FROM builds WHERE environment_id = ${environmentId} AND tools IS NOT NULL ORDER BY id DESC LIMIT 1`)
      return row && JSON.parse(row.tools)
    },

    /** Of all builds that can still be made live. */
    async toolsInUse(): Promise<Exact[]> {
      const found = await sql.query<{ tools: string }>(
        statement`SELECT DISTINCT tools FROM builds WHERE tools IS NOT NULL AND output_digest IS NOT NULL`,
      )
      return found.map(({ tools }) => JSON.parse(tools))
    },

    /** The last build before another one that succeeded and was not held. */
    async lastGood(environmentId: string, before: string): Promise<Build | undefined> {
      const found = await sql.query<BuildRow>(statement`
        SELECT ${columns} FROM builds
        WHERE environment_id = ${environmentId} AND id < ${before} AND state = 'SUCCEEDED' AND is_held = 0
        ORDER BY id DESC LIMIT 1`)
      return (await asBuilds(sql, found))[0]
    },
  }
}

/** Undefined where there is no build. */
export async function newestBuildId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM builds`)
  return row?.id ?? undefined
}

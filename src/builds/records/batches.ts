/** What records of other modules want to know about the builds that they name, for many ids in one statement. */
import type { resources } from '../../contract/index.ts'
import { type Digest, list, type Reader, type Sql, statement, type Transaction } from '../../storage/index.ts'
import type { Plan } from '../plan/plan.ts'
import type { Build, BuildRow, FromSnapshot, Promotion } from './build.ts'

/** With the description of its sender. */
type BuildArchive = { digest: Digest; bytes: number; files: number; promotion?: Promotion } & resources.Described

/** `snapshotTime`: how old the content was that it was made from, as the CMS was down. */
export type Built = { commit: resources.Commit | null; snapshotTime: number | undefined }

/** Why an output is suspicious. */
type OutputSuspicion = { sentences: string[]; details: unknown }

/** A build that has an output, with what it takes to find its files. */
export type MadeBuild = Pick<Build, 'id' | 'packagesId' | 'createTime' | 'startTime'> & { output: Digest; plan: Plan }

type MadeRow = Pick<BuildRow, 'id' | 'packages_id' | 'create_time' | 'start_time'> & {
  plan: string
  output_digest: Digest
}

export type BuildOutput = { output: Digest; kind: Plan['output']['kind'] }

type ArchiveRow = {
  id: string
  archive_digest: Digest
  archive_bytes: number
  archive_files: number
  message: string
  git_commit: string | null
  promoted_from: string | null
}

/** By the id of the build. Builds that do not exist any more are left out. */
export async function readArchives(reader: Reader, ids: readonly string[]): Promise<Map<string, BuildArchive>> {
  if (ids.length === 0) return new Map()
  const rows = await reader.query<ArchiveRow>(statement`
    SELECT id, archive_digest, archive_bytes, archive_files, message, git_commit, promoted_from
    FROM builds WHERE id IN (${list(ids)})`)
  return new Map(rows.map((row) => [row.id, toArchive(row)]))
}

const toArchive = (row: ArchiveRow): BuildArchive => ({
  digest: row.archive_digest,
  bytes: row.archive_bytes,
  files: row.archive_files,
  message: row.message,
  commit: row.git_commit === null ? null : (JSON.parse(row.git_commit) as resources.Commit),
  ...(row.promoted_from === null ? {} : { promotion: JSON.parse(row.promoted_from) as Promotion }),
})

const toMade = (row: MadeRow): MadeBuild => ({
  id: row.id,
  plan: JSON.parse(row.plan) as Plan,
  output: row.output_digest,
  packagesId: row.packages_id,
  createTime: row.create_time,
  startTime: row.start_time,
})

export const createBuildBatches = ({ sql }: { sql: Sql }) => ({
  archivesOf: (ids: readonly string[], reader: Reader = sql) => readArchives(reader, ids),

  /** By the id of the build, for builds that have an output. */
  async outputsOf(ids: readonly string[], reader: Reader = sql): Promise<Map<string, BuildOutput>> {
    if (ids.length === 0) return new Map()
    const rows = await reader.query<{ id: string; plan: string; output_digest: Digest }>(statement`
      SELECT id, plan, output_digest FROM builds
      WHERE id IN (${list(ids)}) AND plan IS NOT NULL AND output_digest IS NOT NULL`)
    return new Map(
      rows.map(({ id, plan, output_digest }) => [
        id,
        { output: output_digest, kind: (JSON.parse(plan) as Plan).output.kind },
      ]),
    )
  },

  /** By the id of the build, for builds that have an output. */
  async madeOf(ids: readonly string[]): Promise<Map<string, MadeBuild>> {
    if (ids.length === 0) return new Map()
    const rows = await sql.query<MadeRow>(statement`
      SELECT id, plan, output_digest, packages_id, create_time, start_time FROM builds
      WHERE id IN (${list(ids)}) AND plan IS NOT NULL AND output_digest IS NOT NULL`)
    return new Map(rows.map((row) => [row.id, toMade(row)]))
  },

  /** By the id of the build, for builds whose output is suspicious. */
  async suspicionsOf(ids: readonly string[], reader: Reader = sql): Promise<Map<string, OutputSuspicion>> {
    if (ids.length === 0) return new Map()
    const rows = await reader.query<{ id: string; suspicion: string }>(
      statement`SELECT id, suspicion FROM builds WHERE id IN (${list(ids)}) AND suspicion IS NOT NULL`,
    )
    return new Map(rows.map(({ id, suspicion }) => [id, JSON.parse(suspicion)]))
  },

  /**
   * What operations build, by the id of the operation: the commit, and the time of the snapshot of the content. Operations with
   * neither are left out.
   */
  async builtBy(operationIds: readonly string[], reader: Reader = sql): Promise<Map<string, Built>> {
    const ids = [...new Set(operationIds)]
    if (ids.length === 0) return new Map()
    const rows = await reader.query<{ operation_id: string; git_commit: string | null; from_snapshot: string | null }>(
      statement`
        SELECT operation_id, git_commit, from_snapshot FROM builds
        WHERE operation_id IN (${list(ids)}) AND (git_commit IS NOT NULL OR from_snapshot IS NOT NULL)`,
    )
    return new Map(
      rows.map(({ operation_id, git_commit, from_snapshot }) => [
        operation_id,
        {
          commit: git_commit === null ? null : (JSON.parse(git_commit) as resources.Commit),
          snapshotTime: from_snapshot === null ? undefined : (JSON.parse(from_snapshot) as FromSnapshot).time,
        },
      ]),
    )
  },

  /** Those of the given operations that have a build. */
  async operationsWithBuild(reader: Reader, operationIds: readonly string[]): Promise<Set<string>> {
    if (operationIds.length === 0) return new Set()
    const rows = await reader.query<{ operation_id: string }>(
      statement`SELECT operation_id FROM builds WHERE operation_id IN (${list(operationIds)})`,
    )
    return new Set(rows.map(({ operation_id }) => operation_id))
  },

  /** Whether an environment has more builds than are kept. */
  async hasMoreThan(environmentId: string, kept: number): Promise<boolean> {
    const rows = await sql.query(statement`
      SELECT id FROM builds WHERE environment_id = ${environmentId} ORDER BY id DESC LIMIT 1 OFFSET ${kept}`)
    return rows.length > 0
  },

  /**
   * Old builds that are over and refer to no files, the oldest first and only those with an id greater than `after`. The last
   * good build is never among them, as a failure is compared with it.
   */
  async oldOf(
    reader: Reader,
    environmentId: string,
    { kept, after, limit }: { kept: number; after: string; limit: number },
  ): Promise<{ id: string; operationId: string }[]> {
    const rows = await reader.query<{ id: string; operation_id: string }>(statement`
      SELECT id, operation_id FROM builds
      WHERE environment_id = ${environmentId} AND finish_time IS NOT NULL AND output_digest IS NULL
      AND packages_id IS NULL AND id > ${after}
      AND id <> (SELECT COALESCE(MAX(id), '') FROM builds AS good
        WHERE good.environment_id = ${environmentId} AND good.state = 'SUCCEEDED' AND good.is_held = 0)
      AND id <= (
        SELECT id FROM builds WHERE environment_id = ${environmentId} ORDER BY id DESC LIMIT 1 OFFSET ${kept})
      ORDER BY id LIMIT ${limit}`)
    return rows.map(({ id, operation_id }) => ({ id, operationId: operation_id }))
  },

  async remove(tx: Transaction, ids: readonly string[]) {
    if (ids.length > 0) await tx.query(statement`DELETE FROM builds WHERE id IN (${list(ids)})`)
  },
})

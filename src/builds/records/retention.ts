/**
 * Which files on the disk builds still need: the archive to start from, the output, installed packages, the log. A row that
 * names a file is a reference to it. Removal deletes the reference first and the files after it, so that every file that is
 * referred to is complete.
 */
import { type Digest, list, type Reader, rows, type Sql, statement, type Transaction } from '../../storage/index.ts'
import type { Size } from '../run/untrusted-folder.ts'

/** Items with the same `key` are the same files on the disk. */
export type RetainedItem = Size & { environmentId: string; key: string }
type RetainedRow = Size & { environment_id: string; key: string }

/** A build that refers to an output or to packages. */
export type RetainingBuild = {
  id: string
  isOver: boolean
  archive: Digest
  output: Digest | null
  packagesId: string | null
}

type Parts = {
  sql: Sql
  /** All environments of an account, also those that are being deleted. */
  environmentIdsOf(accountId: string): Promise<readonly string[]>
}

/** Builds of an environment whose logs are kept, whatever became of them. */
const LOGS_KEPT = 20

/** SQLite takes 32,766 values in a statement, and a query here names each environment up to three times. */
const MAX_IDS = 10_000

export function createBuildRetention({ sql, environmentIdsOf }: Parts) {
  const ofAccount = (accountId: string | undefined) =>
    accountId === undefined ? statement`1 = 1` : statement`account_id = ${accountId}`

  async function retained(query: ReturnType<typeof statement>): Promise<RetainedItem[]> {
    const found = await sql.query<RetainedRow>(query)
    return found.map(({ environment_id, ...item }) => ({ environmentId: environment_id, ...item }))
  }

  /**
   * Those of unfinished builds, and of each environment that of its last build and that of its last good one, with which a
   * failure is compared. Of all environments where none are named.
   */
  function archivesOfBuilds(environmentIds?: readonly string[]): Promise<RetainedItem[]> {
    const selected = statement`SELECT environment_id, archive_digest AS key, archive_bytes AS bytes, 1 AS files FROM builds`
    return retained(statement`
      ${selected} WHERE finish_time IS NULL AND ${among(environmentIds)}
      UNION
      ${selected} WHERE id IN (${lastIdsOf(environmentIds, statement`1 = 1`)})
      UNION
      ${selected} WHERE id IN (${lastIdsOf(environmentIds, statement`state = 'SUCCEEDED'`)})`)
  }

  function archivesOfSources(environmentIds?: readonly string[]): Promise<RetainedItem[]> {
    const mine = among(environmentIds)
    return retained(statement`
      SELECT environment_id, archive_digest AS key, archive_bytes AS bytes, 1 AS files FROM sources WHERE ${mine}
      UNION
      SELECT environment_id, pin_digest, pin_bytes, 1 FROM sources WHERE pin_digest IS NOT NULL AND ${mine}`)
  }

  /** Those of builds whose output can still be made live: a rollback is rebuilt from its archive. */
  function archivesOfOutputs(environmentIds?: readonly string[]): Promise<RetainedItem[]> {
    return retained(statement`
      SELECT DISTINCT environment_id, archive_digest AS key, archive_bytes AS bytes, 1 AS files FROM builds
      WHERE output_digest IS NOT NULL AND ${among(environmentIds)}`)
  }

  type ReadArchives = (environmentIds?: readonly string[]) => Promise<RetainedItem[]>

  /** Each archive of an environment once. */
  async function archivesBy(readers: readonly ReadArchives[], accountId?: string): Promise<RetainedItem[]> {
    const all = new Map<string, RetainedItem>()
    for (const ids of accountId === undefined ? [undefined] : chunksOf(await environmentIdsOf(accountId)))
      for (const read of readers) for (const item of await read(ids)) all.set(`${item.environmentId} ${item.key}`, item)
    return [...all.values()]
  }

  return {
    /** Archives that may still be built, of one account or of all. */
    archives: (accountId?: string) => archivesBy([archivesOfBuilds, archivesOfSources, archivesOfOutputs], accountId),

    /** Those that the next build may be of: of builds, and of each environment the newest upload and the pinned one. */
    archivesOfNextBuilds: (accountId?: string) => archivesBy([archivesOfBuilds, archivesOfSources], accountId),
    archivesOfBuilds,
    archivesOfOutputs,

    outputs(accountId?: string): Promise<RetainedItem[]> {
      return retained(statement`
        SELECT environment_id, output_digest AS key, COALESCE(MAX(output_bytes), 0) AS bytes,
          COALESCE(MAX(output_files), 0) AS files FROM builds
        WHERE output_digest IS NOT NULL AND ${ofAccount(accountId)} GROUP BY output_digest, environment_id`)
    },

    packages(accountId?: string): Promise<RetainedItem[]> {
      // `>=` makes SQLite answer this from the index of packages and not by reading every build.
      return retained(statement`
        SELECT DISTINCT environment_id, packages_id AS key,
          (SELECT bytes FROM packages WHERE packages.id = builds.packages_id) AS bytes,
          (SELECT files FROM packages WHERE packages.id = builds.packages_id) AS files
        FROM builds WHERE packages_id >= '' AND ${ofAccount(accountId)}`)
    },

    async isOutputReferenced(digest: Digest): Promise<boolean> {
      const [row] = await sql.query(statement`SELECT id FROM builds WHERE output_digest = ${digest} LIMIT 1`)
      return row !== undefined
    },

    /** The size of the environment's newest output, as an estimate for the next one. */
    async lastOutputBytes(accountId: string, environmentId: string): Promise<number> {
      const [row] = await sql.query<{ output_bytes: number | null }>(statement`
        SELECT output_bytes FROM builds
        WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND output_digest IS NOT NULL
        ORDER BY id DESC LIMIT 1`)
      return row?.output_bytes ?? 0
    },

    /** Outputs whose size was not recorded. */
    async unmeasuredOutputs(): Promise<Digest[]> {
      const rows = await sql.query<{ output_digest: Digest }>(statement`
        SELECT DISTINCT output_digest FROM builds WHERE output_digest IS NOT NULL AND (output_bytes IS NULL OR output_files IS NULL)`)
      return rows.map(({ output_digest }) => output_digest)
    },
    async measuredOutput(digest: Digest, { bytes, files }: Size) {
      await sql.transaction((tx) =>
        tx.query(
          statement`UPDATE builds SET output_bytes = ${bytes}, output_files = ${files} WHERE output_digest = ${digest}`,
        ),
      )
    },

    /** The environment's builds whose logs are kept: unfinished ones, those that can still be made live, and the last few. */
    async withLogs(environmentId: string): Promise<string[]> {
      const rows = await sql.query<{ id: string }>(statement`
        SELECT id FROM builds
        WHERE environment_id = ${environmentId} AND (finish_time IS NULL OR output_digest IS NOT NULL)
        UNION
        SELECT id FROM (
          SELECT id FROM builds WHERE environment_id = ${environmentId} ORDER BY id DESC LIMIT ${LOGS_KEPT}) AS latest`)
      return rows.map(({ id }) => id)
    },

    /** The environment's builds that refer to an output or to packages, the oldest first. */
    async retainingBuilds(reader: Reader, environmentId: string): Promise<RetainingBuild[]> {
      const rows = await reader.query<{
        id: string
        finish_time: number | null
        archive_digest: Digest
        output_digest: Digest | null
        packages_id: string | null
      }>(statement`
        SELECT id, finish_time, archive_digest, output_digest, packages_id FROM builds
        WHERE environment_id = ${environmentId} AND (output_digest IS NOT NULL OR packages_id IS NOT NULL) ORDER BY id`)
      return rows.map((row) => ({
        id: row.id,
        isOver: row.finish_time !== null,
        archive: row.archive_digest,
        output: row.output_digest,
        packagesId: row.packages_id,
      }))
    },

    /** Deletes the references of these builds. The files may go then, unless another build refers to the same. */
    async release(tx: Transaction, builds: { outputs: readonly string[]; packages: readonly string[] }) {
      if (builds.outputs.length > 0)
        await tx.query(statement`
          UPDATE builds SET output_digest = NULL, output_bytes = NULL, output_files = NULL WHERE id IN (${list(builds.outputs)})`)
      if (builds.packages.length > 0)
        await tx.query(statement`UPDATE builds SET packages_id = NULL WHERE id IN (${list(builds.packages)})`)
    },
  }
}

export type BuildRetention = ReturnType<typeof createBuildRetention>

const among = (environmentIds: readonly string[] | undefined) =>
  environmentIds === undefined ? statement`1 = 1` : statement`environment_id IN (${list(environmentIds)})`

/** The last build of each environment that meets a condition. Each of the named environments is one look-up in an index. */
const lastIdsOf = (environmentIds: readonly string[] | undefined, condition: ReturnType<typeof statement>) =>
  environmentIds === undefined
    ? statement`SELECT MAX(id) FROM builds WHERE ${condition} GROUP BY environment_id`
    : statement`SELECT (SELECT MAX(id) FROM builds WHERE environment_id = wanted.column1 AND ${condition})
        FROM (VALUES ${rows(environmentIds.map((id) => [id]))}) AS wanted`

function chunksOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / MAX_IDS)
  return Array.from({ length: count }, (_, index) => ids.slice(index * MAX_IDS, (index + 1) * MAX_IDS))
}

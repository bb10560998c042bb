/**
 * What builds hold on the disk: the archive to start from, the output, installed packages, the log. A row that refers to
 * something holds it. To let go, the reference goes first and the files after it, so that nothing that is referred to is
 * ever half gone.
 */
import { type Digest, list, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'
import type { Size } from './inside.ts'

/** `key` is the same for what lies on the disk once. */
export type Held = Size & { environmentId: string; key: string }
type HeldRow = Size & { environment_id: string; held: string }

/** A build with something that it could let go of. */
export type Holder = {
  id: string
  isOver: boolean
  archive: Digest
  output: Digest | null
  packagesId: string | null
}

/** Builds of an environment whose logs are kept, whatever became of them. */
const LOGS_KEPT = 20

export function createHoldings({ sql }: { sql: Sql }) {
  const ofAccount = (accountId: string | undefined) =>
    accountId === undefined ? statement`1 = 1` : statement`account_id = ${accountId}`

  async function held(query: ReturnType<typeof statement>): Promise<Held[]> {
    const rows = await sql.query<HeldRow>(query)
    return rows.map(({ environment_id, held, ...size }) => ({ environmentId: environment_id, key: held, ...size }))
  }

  /**
   * Those of unfinished builds, and of each environment that of its last build, and that of its last good one, with which a
   * failure is compared.
   */
  function archivesOfBuilds(accountId?: string): Promise<Held[]> {
    const selected = statement`SELECT environment_id, archive_digest AS held, archive_bytes AS bytes, 1 AS files FROM builds`
    const mine = ofAccount(accountId)
    return held(statement`
      ${selected} WHERE finish_time IS NULL AND ${mine}
      UNION
      ${selected} WHERE id IN (
        SELECT (SELECT MAX(id) FROM builds WHERE environment_id = environments.id) FROM environments WHERE ${mine})
      UNION
      ${selected} WHERE id IN (
        SELECT (SELECT MAX(id) FROM builds WHERE environment_id = environments.id AND state = 'SUCCEEDED')
        FROM environments WHERE ${mine})`)
  }

  /** Those of builds whose output can still be made live: what is rolled back to is rebuilt from its archive. */
  function archivesOfOutputs(accountId?: string): Promise<Held[]> {
    return held(statement`
      SELECT DISTINCT environment_id, archive_digest AS held, archive_bytes AS bytes, 1 AS files FROM builds
      WHERE output_digest IS NOT NULL AND ${ofAccount(accountId)}`)
  }

  /** Those that the next build may be of: of builds, and of each environment the newest upload and the pinned one. */
  async function archivesNow(accountId?: string): Promise<Held[]> {
    const mine =
      accountId === undefined
        ? statement`1 = 1`
        : statement`environment_id IN (SELECT id FROM environments WHERE account_id = ${accountId})`
    const ofSources = await held(statement`
      SELECT environment_id, archive_digest AS held, archive_bytes AS bytes, 1 AS files FROM sources WHERE ${mine}
      UNION
      SELECT environment_id, pin_digest, pin_bytes, 1 FROM sources WHERE pin_digest IS NOT NULL AND ${mine}`)
    return once([...(await archivesOfBuilds(accountId)), ...ofSources])
  }

  return {
    /** Archives that may still be built, of one account or of all. */
    async archives(accountId?: string): Promise<Held[]> {
      return once([...(await archivesNow(accountId)), ...(await archivesOfOutputs(accountId))])
    },

    archivesNow,
    archivesOfBuilds,
    archivesOfOutputs,

    outputs(accountId?: string): Promise<Held[]> {
      return held(statement`
        SELECT environment_id, output_digest AS held, COALESCE(MAX(output_bytes), 0) AS bytes,
          COALESCE(MAX(output_files), 0) AS files FROM builds
        WHERE output_digest IS NOT NULL AND ${ofAccount(accountId)} GROUP BY output_digest, environment_id`)
    },

    packages(accountId?: string): Promise<Held[]> {
      // Said in this way, it is answered from the index of packages and not by reading every build.
      return held(statement`
        SELECT DISTINCT environment_id, packages_id AS held,
          (SELECT bytes FROM packages WHERE packages.id = builds.packages_id) AS bytes,
          (SELECT files FROM packages WHERE packages.id = builds.packages_id) AS files
        FROM builds WHERE packages_id >= '' AND ${ofAccount(accountId)}`)
    },

    async isOutputHeld(digest: Digest): Promise<boolean> {
      const [row] = await sql.query(statement`SELECT id FROM builds WHERE output_digest = ${digest} LIMIT 1`)
      return row !== undefined
    },

    /** What the environment's newest output takes: about as much as the next one will. */
    async lastOutputBytes(accountId: string, environmentId: string): Promise<number> {
      const [row] = await sql.query<{ output_bytes: number | null }>(statement`
        SELECT output_bytes FROM builds
        WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND output_digest IS NOT NULL
        ORDER BY id DESC LIMIT 1`)
      return row?.output_bytes ?? 0
    },

    /** Outputs whose size nobody knows. */
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

    /** The environment's builds that hold an output or packages, the oldest first. */
    async holders(reader: Reader, environmentId: string): Promise<Holder[]> {
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

    /** From here on these builds do not hold them. The files are nobody's, unless another build holds the same. */
    async letGo(tx: Transaction, builds: { outputs: readonly string[]; packages: readonly string[] }) {
      if (builds.outputs.length > 0)
        await tx.query(statement`
          UPDATE builds SET output_digest = NULL, output_bytes = NULL, output_files = NULL WHERE id IN (${list(builds.outputs)})`)
      if (builds.packages.length > 0)
        await tx.query(statement`UPDATE builds SET packages_id = NULL WHERE id IN (${list(builds.packages)})`)
    },
  }
}

const once = (held: readonly Held[]): Held[] => [
  ...new Map(held.map((one) => [`${one.environmentId} ${one.key}`, one])).values(),
]

export type Holdings = ReturnType<typeof createHoldings>

/**
 * The records of content snapshots: for a build, which blob has what the CMS answered to it. A snapshot is good once its build
 * has succeeded and nothing about its output was suspicious: builds run from the newest good one while the CMS is down. It goes
 * with its build, or when the environment has newer ones enough.
 */
import type { Clock } from '../base/index.ts'
import { LIMITS } from '../contract/index.ts'
import { type Digest, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'

export type Snapshot = {
  buildId: string
  environmentId: string
  digest: Digest
  answers: number
  bytes: number
  createTime: number
}

type Row = {
  build_id: string
  environment_id: string
  digest: Digest
  answers: number
  bytes: number
  create_time: number
}

const columns = statement`build_id, environment_id, digest, answers, bytes, create_time`

export function createSnapshotRecords({ sql, clock }: { sql: Sql; clock: Clock }) {
  /** Keeps the newest ones, and the newest good one. */
  async function prune(tx: Transaction, environmentId: string) {
    await tx.query(statement`
      DELETE FROM content_snapshots WHERE environment_id = ${environmentId}
      AND build_id NOT IN (
        SELECT build_id FROM content_snapshots WHERE environment_id = ${environmentId}
        ORDER BY build_id DESC LIMIT ${LIMITS.contentSnapshots})
      AND build_id <> COALESCE((
        SELECT MAX(build_id) FROM content_snapshots WHERE environment_id = ${environmentId} AND is_good = 1), '')`)
  }

  return {
    /** A build that begins again after a crash replaces what it recorded before. */
    async insert(snapshot: Omit<Snapshot, 'createTime'> & { createTime?: number; accountId: string }) {
      const { buildId, environmentId, accountId, digest, answers, bytes, createTime = clock.now() } = snapshot
      await sql.transaction(async (tx) => {
        await tx.query(statement`DELETE FROM content_snapshots WHERE build_id = ${buildId}`)
        await tx.query(statement`
          INSERT INTO content_snapshots (build_id, account_id, environment_id, digest, answers, bytes, is_good, create_time)
          VALUES (${buildId}, ${accountId}, ${environmentId}, ${digest}, ${answers}, ${bytes}, 0, ${createTime})`)
        await prune(tx, environmentId)
      })
    },

    /** Part of the transaction that ends the build. */
    async approve(tx: Transaction, buildId: string) {
      await tx.query(statement`UPDATE content_snapshots SET is_good = 1 WHERE build_id = ${buildId}`)
    },

    async lastGood(environmentId: string): Promise<Snapshot | undefined> {
      const [row] = await sql.query<Row>(statement`
        SELECT ${columns} FROM content_snapshots WHERE environment_id = ${environmentId} AND is_good = 1
        ORDER BY build_id DESC LIMIT 1`)
      return row && toSnapshot(row)
    },

    async find(accountId: string, environmentId: string, buildId: string): Promise<Snapshot | undefined> {
      const [row] = await sql.query<Row>(statement`
        SELECT ${columns} FROM content_snapshots
        WHERE build_id = ${buildId} AND environment_id = ${environmentId} AND account_id = ${accountId}`)
      return row && toSnapshot(row)
    },

    /** The blobs of all snapshots. */
    digests: () => readSnapshotDigests(sql),

    /** What the snapshots of an account take, or those of all accounts. */
    async sizes(accountId?: string): Promise<{ key: string; environmentId: string; bytes: number; files: number }[]> {
      const mine = accountId === undefined ? statement`1 = 1` : statement`account_id = ${accountId}`
      const rows = await sql.query<{ digest: string; environment_id: string; bytes: number }>(
        statement`SELECT DISTINCT digest, environment_id, bytes FROM content_snapshots WHERE ${mine}`,
      )
      return rows.map(({ digest, environment_id, bytes }) => ({
        key: digest,
        environmentId: environment_id,
        bytes,
        files: 1,
      }))
    },
  }
}

export type SnapshotRecords = ReturnType<typeof createSnapshotRecords>

export async function readSnapshotDigests(reader: Reader): Promise<Digest[]> {
  const rows = await reader.query<{ digest: Digest }>(statement`SELECT DISTINCT digest FROM content_snapshots`)
  return rows.map(({ digest }) => digest)
}

const toSnapshot = (row: Row): Snapshot => ({
  buildId: row.build_id,
  environmentId: row.environment_id,
  digest: row.digest,
  answers: row.answers,
  bytes: row.bytes,
  createTime: row.create_time,
})

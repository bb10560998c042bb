/**
 * The rows of connected repositories, and what is to be fetched of them: one row for the branch that the environment follows,
 * which stays, and one for each other branch that waits for a preview. Work on one environment is claimed by a lease, so that one
 * process at a time fetches for it. Tokens, keys and the secret of the hook are sealed, each bound to its place.
 */
import { notifyBelow } from '../apps/index.ts'
import { type NewId, Secret } from '../base/index.ts'
import { LIMITS, Problem } from '../contract/index.ts'
import { list, type Reader, type Sql, statement, type Transaction, type Vault } from '../storage/index.ts'
import type { Asked } from '../triggers/index.ts'
import { createClaims } from './claims.ts'
import {
  columns,
  type RepositoryRecord,
  type Row,
  type StoredProblem,
  toRecord,
  toWish,
  type Wish,
  type WishRow,
} from './rows.ts'

/** Callers of one wish that the ledger will name. */
const MAX_ASKED = 20

export type SecretUse = 'token' | 'key' | 'hook'
const placeOf = (environmentId: string, use: SecretUse) => `environments/${environmentId}/repository/${use}`

type Parts = { sql: Sql; newId: NewId; vault: Pick<Vault, 'seal' | 'open'> }

export function createRepositoryRecords({ sql, newId, vault }: Parts) {
  async function find(reader: Reader, environmentId: string): Promise<RepositoryRecord | undefined> {
    const [row] = await reader.query<Row>(
      statement`SELECT ${columns} FROM repositories WHERE environment_id = ${environmentId}`,
    )
    return row && toRecord(row)
  }

  async function require(reader: Reader, environmentId: string): Promise<RepositoryRecord> {
    const found = await find(reader, environmentId)
    if (!found) throw new Problem('REPOSITORY_NOT_FOUND')
    return found
  }

  async function wishOf(reader: Reader, environmentId: string, branch: string): Promise<Wish | undefined> {
    const [row] = await reader.query<WishRow>(statement`
      SELECT branch, is_own, wishes, asked, attempts FROM repository_fetches
      WHERE environment_id = ${environmentId} AND branch = ${branch}`)
    return row && toWish(row)
  }

  return {
    find,
    require,

    seal: (environmentId: string, use: SecretUse, secret: string): string =>
      vault.seal(secret, placeOf(environmentId, use)),

    open: (environmentId: string, use: SecretUse, sealed: string): Secret =>
      new Secret(vault.open(sealed, placeOf(environmentId, use))),

    /** Whether a fetch is wanted or under way, but for looks at an interval. */
    async isFetching(environmentId: string, now: number): Promise<boolean> {
      const rows = await sql.query(statement`
        SELECT environment_id FROM repositories r WHERE environment_id = ${environmentId} AND (lease_until > ${now} OR EXISTS (
          SELECT 1 FROM repository_fetches f WHERE f.environment_id = r.environment_id AND f.asked <> '[]' AND f.next_time IS NOT NULL))`)
      return rows.length > 0
    },

    async insert(
      tx: Transaction,
      record: Omit<
        RepositoryRecord,
        'revision' | 'lastCommit' | 'lastFetchTime' | 'lastOperation' | 'problem' | 'statusProblem'
      >,
    ): Promise<void> {
      const made = await tx.query(statement`
        INSERT INTO repositories (environment_id, url, branch, provider, username, sealed_token, sealed_key, public_key,
          known_hosts, sealed_hook_secret, poll_minutes, sends_statuses, revision, create_time, update_time)
        VALUES (${record.environmentId}, ${record.url}, ${record.branch}, ${record.provider}, ${record.username},
          ${record.sealedToken}, ${record.sealedKey}, ${record.publicKey}, ${record.knownHosts}, ${record.sealedHookSecret},
          ${record.pollMinutes}, ${Number(record.sendsStatuses)}, 1, ${record.createTime}, ${record.updateTime})
        ON CONFLICT (environment_id) DO NOTHING RETURNING environment_id`)
      if (made.length === 0) throw new Problem('REPOSITORY_EXISTS')
      await notifyBelow(tx, record.environmentId, 'repository')
    },

    /** What users set. A problem of before is forgotten. */
    async update(tx: Transaction, record: RepositoryRecord): Promise<void> {
      await tx.query(statement`
        UPDATE repositories SET url = ${record.url}, branch = ${record.branch}, provider = ${record.provider},
          username = ${record.username}, sealed_token = ${record.sealedToken}, sealed_key = ${record.sealedKey},
          public_key = ${record.publicKey}, known_hosts = ${record.knownHosts}, sealed_hook_secret = ${record.sealedHookSecret},
          poll_minutes = ${record.pollMinutes}, sends_statuses = ${Number(record.sendsStatuses)},
          last_commit = ${record.lastCommit}, problem = NULL, status_problem = NULL, revision = revision + 1, update_time = ${record.updateTime}
        WHERE environment_id = ${record.environmentId}`)
      await notifyBelow(tx, record.environmentId, 'repository')
    },

    async remove(tx: Transaction, environmentId: string): Promise<void> {
      const gone = await tx.query(
        statement`DELETE FROM repositories WHERE environment_id = ${environmentId} RETURNING environment_id`,
      )
      if (gone.length === 0) throw new Problem('REPOSITORY_NOT_FOUND')
      await notifyBelow(tx, environmentId, 'repository')
    },

    /** The branch that the environment follows is looked at from a time on; null: when it is asked for. */
    async follow(tx: Transaction, { environmentId, branch }: RepositoryRecord, nextTime: number | null): Promise<void> {
      const gone = await tx.query<WishRow>(statement`
        DELETE FROM repository_fetches WHERE environment_id = ${environmentId} AND (is_own = 1 OR branch = ${branch})
        RETURNING branch, is_own, wishes, asked, attempts`)
      const asked = gone.flatMap((row) => toWish(row).asked).slice(0, MAX_ASKED)
      await tx.query(statement`
        INSERT INTO repository_fetches (environment_id, branch, is_own, wishes, asked, attempts, next_time)
        VALUES (${environmentId}, ${branch}, 1, ${asked.length}, ${JSON.stringify(asked)}, 0, ${nextTime})`)
    },

    /** Asks for a fetch of a branch now. Of other branches only so many wait; false if there are too many. */
    async wish(tx: Transaction, record: RepositoryRecord, branch: string, asked: Asked): Promise<boolean> {
      const { environmentId } = record
      const isOwn = branch === record.branch
      const before = await wishOf(tx, environmentId, branch)
      if (!before && !isOwn) {
        const [waiting] = await tx.query<{ count: number }>(statement`
          SELECT COUNT(*) AS count FROM repository_fetches WHERE environment_id = ${environmentId} AND is_own = 0`)
        if ((waiting?.count ?? 0) >= LIMITS.branchesWaiting) return false
      }
      const all = JSON.stringify([...(before?.asked ?? []), asked].slice(0, MAX_ASKED))
      await tx.query(statement`
        INSERT INTO repository_fetches (environment_id, branch, is_own, wishes, asked, attempts, next_time)
        VALUES (${environmentId}, ${branch}, ${Number(isOwn)}, 1, ${all}, 0, ${asked.time})
        ON CONFLICT (environment_id, branch) DO UPDATE SET
          wishes = repository_fetches.wishes + 1, asked = ${all}, attempts = 0, next_time = ${asked.time}`)
      await notifyBelow(tx, environmentId, 'repository')
      return true
    },

    /** Whether one of these environments follows the branch. */
    async isFollowed(environmentIds: readonly string[], { url, branch }: { url: string; branch: string }) {
      if (environmentIds.length === 0) return false
      const rows = await sql.query(statement`
        SELECT environment_id FROM repositories
        WHERE url = ${url} AND branch = ${branch} AND environment_id IN (${list(environmentIds)}) LIMIT 1`)
      return rows.length > 0
    },

    async setHookSecret(tx: Transaction, environmentId: string, sealed: string): Promise<void> {
      await tx.query(
        statement`UPDATE repositories SET sealed_hook_secret = ${sealed} WHERE environment_id = ${environmentId}`,
      )
      await notifyBelow(tx, environmentId, 'repository')
    },

    /** Why the provider did not take the last status; null if it did. */
    async statusSent(tx: Transaction, environmentId: string, problem: StoredProblem | null): Promise<void> {
      await tx.query(statement`
        UPDATE repositories SET status_problem = ${problem === null ? null : JSON.stringify(problem)}
        WHERE environment_id = ${environmentId}`)
      await notifyBelow(tx, environmentId, 'repository')
    },

    /** The branch is gone, so it is not fetched for a preview any more. */
    async forget(tx: Transaction, environmentId: string, branch: string): Promise<void> {
      await tx.query(statement`
        DELETE FROM repository_fetches WHERE environment_id = ${environmentId} AND branch = ${branch} AND is_own = 0`)
    },

    wishOf,
    ...createClaims({ sql, newId }),

    /** What a look found. */
    async looked(
      tx: Transaction,
      environmentId: string,
      found: { time: number; commit?: string; operation?: string; problem: StoredProblem | null; knownHosts?: string },
    ): Promise<void> {
      const { time, commit, operation, problem, knownHosts } = found
      const isWell = problem === null
      await tx.query(statement`
        UPDATE repositories SET problem = ${problem === null ? null : JSON.stringify(problem)},
          last_fetch_time = CASE WHEN ${Number(isWell)} = 1 THEN ${time} ELSE last_fetch_time END,
          last_commit = COALESCE(${commit ?? null}, last_commit),
          last_operation = COALESCE(${operation ?? null}, last_operation),
          known_hosts = COALESCE(${knownHosts ?? null}, known_hosts)
        WHERE environment_id = ${environmentId}`)
      await notifyBelow(tx, environmentId, 'repository')
    },

    /** When the branch is looked at next. `answered`: so many of those who asked have their answer. */
    async schedule(
      tx: Transaction,
      environmentId: string,
      { branch, isOwn }: Wish,
      next: { time: number | null; attempts: number; answered: number },
    ): Promise<void> {
      if (!isOwn && next.time === null) {
        await tx.query(
          statement`DELETE FROM repository_fetches WHERE environment_id = ${environmentId} AND branch = ${branch}`,
        )
        return
      }
      const now = await wishOf(tx, environmentId, branch)
      const asked = JSON.stringify(now?.asked.slice(next.answered) ?? [])
      await tx.query(statement`
        UPDATE repository_fetches SET next_time = ${next.time}, attempts = ${next.attempts}, asked = ${asked}
        WHERE environment_id = ${environmentId} AND branch = ${branch}`)
    },
  }
}

export type RepositoryRecords = ReturnType<typeof createRepositoryRecords>

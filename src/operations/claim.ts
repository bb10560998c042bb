/**
 * Leases on operations, in SQL, so that any number of processes can work on one database. Clocks of different machines
 * may differ by less than the lease: a lease is renewed at a third of its time.
 *
 * A clock may also be set, and a machine may sleep. Then the leases of this process seem to have run out, or to last for
 * hours. So a process that looks for work renews its own leases first, and a lease that ends later than any can is ignored.
 */
import { type Clock, isProcessGone } from '../base/index.ts'
import { LIMITS } from '../contract/index.ts'
import { list, type Reader, type Sql, type Statement, statement, type Transaction } from '../storage/index.ts'
import { columns, type OperationRow, toRecord } from './rows.ts'
import type { OperationRecord, Queue } from './types.ts'

export const LEASE_MS = 30_000
/** How far in the future a lease can end, by the clock of another machine as well. */
const FURTHEST_MS = 2 * LEASE_MS

/** The longest quiet period: an operation that seems to wait longer was recorded before the clock was set back. */
const MAX_SETTLING_MS = LIMITS.maxQuietSeconds * 1000

/** Whether it may begin: it has no quiet period, or that is over, or the operation is to be cancelled. */
const isDue = (operation: Statement, now: number) => statement`(${operation}.not_before IS NULL
  OR ${operation}.not_before NOT BETWEEN ${now + 1} AND ${now + MAX_SETTLING_MS} OR ${operation}.cancel_time IS NOT NULL)`

/** Whether no process holds a plausible lease on it. */
const isFree = (operation: Statement, now: number) => statement`(${operation}.lease_until IS NULL
  OR ${operation}.lease_until NOT BETWEEN ${now} AND ${now + FURTHEST_MS})`

/**
 * Of each account only the oldest waiting operations are read. Many may wait for another one of their environment, and other
 * accounts must not wait while the query goes through them.
 */
const MAX_READ = 500

/** Two claims at the same time always conflict. */
const EXCLUSIVELY = { exclusive: 'claim' } as const

/** `cancelled`: still ours, but the handler should end. `lost`: it ran out, and another process took the operation or ended it. */
export type LeaseState = 'held' | 'cancelled' | 'lost'

export type Claim = { operation: OperationRecord; attempt: number; isCancelled: boolean; queue: Queue }

type Parts = {
  sql: Sql
  clock: Clock
  owner: string
  /** How many operations of each queue run at a time in this process. */
  concurrency: Record<Queue, number>
  /** How many may be of one account in all processes, where that is limited. */
  perAccount?: Partial<Record<Queue, number>>
  /** Whether the service has more than one account. */
  hasSeveralAccounts(reader: Reader): Promise<boolean>
}

type ClaimedRow = OperationRow & { attempts: number; cancel_time: number | null; queue: Queue }

export function createClaims({ sql, clock, owner, concurrency, perAccount = {}, hasSeveralAccounts }: Parts) {
  /**
   * How many places of this process one account may have. A running operation is never interrupted, so with several accounts one
   * place stays free for an operation of another account; if there is only one place, the accounts take turns.
   */
  async function placesOfOneAccount(tx: Transaction, queue: Queue): Promise<number> {
    return (await hasSeveralAccounts(tx)) ? Math.max(1, concurrency[queue] - 1) : concurrency[queue]
  }

  /**
   * Accounts are found one after the other by the index, so that the cost grows with their number and not with the queue.
   * The condition on the lease stands twice: a database that runs two claims at the same time checks the outer one again
   * before it writes.
   */
  async function claim(tx: Transaction, queue: Queue, now: number): Promise<ClaimedRow | undefined> {
    const places = await placesOfOneAccount(tx, queue)
    const max = perAccount[queue] ?? Number.MAX_SAFE_INTEGER
    const furthest = now + FURTHEST_MS
    const [row] = await tx.query<ClaimedRow>(statement`
      WITH RECURSIVE owners (id) AS (
        SELECT MIN(account_id) FROM operations WHERE done_time IS NULL AND queue = ${queue}
        UNION ALL
        SELECT (SELECT MIN(account_id) FROM operations
          WHERE done_time IS NULL AND queue = ${queue} AND account_id > owners.id)
        FROM owners WHERE owners.id IS NOT NULL),
      candidates AS MATERIALIZED (
        SELECT
          (SELECT COUNT(*) FROM operations AS mine
            WHERE mine.done_time IS NULL AND mine.lease_owner IS NOT NULL AND mine.queue = ${queue}
            AND mine.account_id = owners.id AND mine.lease_until BETWEEN ${now} AND ${furthest}) AS at_work,
          (SELECT COUNT(*) FROM operations AS mine
            WHERE mine.done_time IS NULL AND mine.lease_owner = ${owner} AND mine.queue = ${queue}
            AND mine.account_id = owners.id AND mine.lease_until BETWEEN ${now} AND ${furthest}) AS at_work_here,
          (SELECT o.id FROM (
              SELECT id, environment_id FROM operations AS waiting
              WHERE waiting.done_time IS NULL AND waiting.queue = ${queue} AND waiting.account_id = owners.id
              AND ${isFree(statement`waiting`, now)} AND ${isDue(statement`waiting`, now)}
              ORDER BY waiting.id LIMIT ${MAX_READ}) AS o
            WHERE NOT EXISTS (
              SELECT 1 FROM operations AS other
              WHERE other.done_time IS NULL AND other.queue <> 'none'
              AND other.environment_id = o.environment_id AND other.id <> o.id
              AND (other.lease_until BETWEEN ${now} AND ${furthest} OR other.id < o.id AND
                ${isDue(statement`other`, now)}))
            ORDER BY o.id LIMIT 1) AS next_id
        FROM owners WHERE owners.id IS NOT NULL)
      UPDATE operations SET lease_owner = ${owner}, lease_until = ${now + LEASE_MS}, attempts = attempts + 1
      WHERE id = (
        SELECT next_id FROM candidates WHERE next_id IS NOT NULL AND at_work < ${max} AND at_work_here < ${places}
        ORDER BY at_work, next_id LIMIT 1)
      AND done_time IS NULL AND ${isFree(statement`operations`, now)}
      RETURNING ${columns}, attempts, cancel_time, queue`)
    return row
  }

  return {
    /**
     * Claims a free operation of one of these queues: of the account with the fewest running operations, and of those the
     * oldest. Operations of one environment are taken in the order of their requests, one at a time; one that is in its quiet
     * period does not block the others. The leases of the operations that run here are renewed if they seem to have run out.
     */
    async next(queues: readonly Queue[], running: readonly string[] = []): Promise<Claim | undefined> {
      const now = clock.now()
      const row = await sql.transaction(async (tx) => {
        if (running.length > 0) {
          await tx.query(statement`
            UPDATE operations SET lease_until = ${now + LEASE_MS}
            WHERE id IN (${list(running)}) AND lease_owner = ${owner} AND done_time IS NULL
            AND lease_until NOT BETWEEN ${now} AND ${now + FURTHEST_MS}`)
        }
        for (const queue of queues) {
          const claimed = await claim(tx, queue, now)
          if (claimed) return claimed
        }
        return undefined
      }, EXCLUSIVELY)
      return (
        row && {
          operation: toRecord(row),
          attempt: row.attempts,
          isCancelled: row.cancel_time !== null,
          queue: row.queue,
        }
      )
    },

    /** Whether there may be something to claim. Called before `next`, which takes the write lock. */
    async isAnyWaiting(queues: readonly Queue[]): Promise<boolean> {
      const now = clock.now()
      const [row] = await sql.query(statement`
        SELECT id FROM operations
        WHERE done_time IS NULL AND queue IN (${list(queues)})
        AND ${isFree(statement`operations`, now)} AND ${isDue(statement`operations`, now)}
        LIMIT 1`)
      return row !== undefined
    },

    /** Extends the lease. */
    async renew(id: string): Promise<LeaseState> {
      const [row] = await sql.transaction((tx) =>
        tx.query<{ cancel_time: number | null }>(statement`
          UPDATE operations SET lease_until = ${clock.now() + LEASE_MS}
          WHERE id = ${id} AND lease_owner = ${owner} AND done_time IS NULL RETURNING cancel_time`),
      )
      return leaseState(row)
    },

    /** Reads the lease without writing. */
    async look(id: string): Promise<LeaseState> {
      const [row] = await sql.query<{ cancel_time: number | null }>(statement`
        SELECT cancel_time FROM operations WHERE id = ${id} AND lease_owner = ${owner} AND done_time IS NULL`)
      return leaseState(row)
    },

    /** Frees the operations of processes of this machine that have certainly ended. */
    async releaseDead() {
      const rows = await sql.query<{ lease_owner: string }>(
        statement`SELECT DISTINCT lease_owner FROM operations WHERE done_time IS NULL AND lease_owner IS NOT NULL`,
      )
      for (const { lease_owner } of rows) {
        if (!isProcessGone(lease_owner)) continue
        await sql.transaction((tx) =>
          tx.query(statement`
            UPDATE operations SET lease_owner = NULL, lease_until = NULL
            WHERE lease_owner = ${lease_owner} AND done_time IS NULL`),
        )
      }
    },

    /** Frees the operation unfinished, for the next claim. An attempt that this process cut short does not count. */
    async handBack(id: string) {
      await sql.transaction((tx) =>
        tx.query(statement`
          UPDATE operations SET lease_owner = NULL, lease_until = NULL, attempts = attempts - 1
          WHERE id = ${id} AND lease_owner = ${owner} AND done_time IS NULL`),
      )
    },
  }
}

export type Claims = ReturnType<typeof createClaims>

function leaseState(row: { cancel_time: number | null } | undefined): LeaseState {
  if (!row) return 'lost'
  return row.cancel_time === null ? 'held' : 'cancelled'
}

/** Claims of work on a repository: by a lease on its row, so that one process at a time fetches for an environment. */
import type { NewId } from '../base/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'
import { type Claim, columns, type Row, toRecord, toWish, type WishRow } from './rows.ts'

/** Another process does the work by now, or it is not wanted any more. */
export class ClaimLost extends Error {}

export function createClaims({ sql, newId }: { sql: Sql; newId: NewId }) {
  return {
    /** The one that has been due for longest and that no process works on. */
    async claim(now: number, leaseUntil: number): Promise<Claim | undefined> {
      const lease = newId()
      return sql.transaction(async (tx) => {
        const isFree = statement`(lease_until IS NULL OR lease_until <= ${now})`
        const [row] = await tx.query<Row>(statement`
          UPDATE repositories SET lease = ${lease}, lease_until = ${leaseUntil}
          WHERE ${isFree} AND environment_id = (
            SELECT f.environment_id FROM repository_fetches f JOIN repositories r ON r.environment_id = f.environment_id
            WHERE f.next_time <= ${now} AND (r.lease_until IS NULL OR r.lease_until <= ${now})
            ORDER BY f.next_time, f.environment_id LIMIT 1)
          RETURNING ${columns}`)
        if (!row) return undefined
        const [wish] = await tx.query<WishRow>(statement`
          SELECT branch, is_own, wishes, asked, attempts FROM repository_fetches
          WHERE environment_id = ${row.environment_id} AND next_time <= ${now} ORDER BY next_time, branch LIMIT 1`)
        if (!wish) {
          await tx.query(statement`UPDATE repositories SET lease = NULL, lease_until = NULL WHERE lease = ${lease}`)
          return undefined
        }
        return { repository: toRecord(row), wish: toWish(wish), lease }
      })
    },

    /** False if another process has it by now, or it was disconnected or changed. */
    async renew({ repository: { environmentId, revision }, lease }: Claim, leaseUntil: number): Promise<boolean> {
      const rows = await sql.transaction((tx) =>
        tx.query(statement`
          UPDATE repositories SET lease_until = ${leaseUntil}
          WHERE environment_id = ${environmentId} AND lease = ${lease} AND revision = ${revision} RETURNING environment_id`),
      )
      return rows.length > 0
    },

    /** Ends the claim within the transaction of its result. Throws if it is another's by now: nothing of the result is kept. */
    async release(tx: Transaction, { repository: { environmentId, revision }, lease }: Claim): Promise<void> {
      const rows = await tx.query(statement`
        UPDATE repositories SET lease = NULL, lease_until = NULL
        WHERE environment_id = ${environmentId} AND lease = ${lease} AND revision = ${revision} RETURNING environment_id`)
      if (rows.length === 0) throw new ClaimLost()
    },

    /** The claim is over without a result: the process stops, or the repository was changed meanwhile. */
    async giveUp({ lease }: Claim): Promise<void> {
      await sql.transaction((tx) =>
        tx.query(statement`UPDATE repositories SET lease = NULL, lease_until = NULL WHERE lease = ${lease}`),
      )
    },
  }
}

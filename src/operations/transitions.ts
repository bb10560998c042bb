/** What happens to an operation after it was requested: its queue, phase, deployment, cancellation and end. */
import type { Clock } from '../base/index.ts'
import { operationError, type Problem, type resources } from '../contract/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'
import { columns, notifyChanged, type OperationRow, toColumns, toRecord } from './rows.ts'
import type { Ending, HandedOn, OperationPath, OperationRecord } from './types.ts'

type Parts = {
  sql: Sql
  clock: Clock
  require(path: OperationPath, id: string, reader: Transaction): Promise<OperationRecord>
}

export function createTransitions({ sql, clock, require }: Parts) {
  async function change(tx: Transaction, update: ReturnType<typeof statement>, { withEnvironment = false } = {}) {
    const rows = await tx.query<OperationRow>(statement`${update} RETURNING ${columns}`)
    for (const row of rows) notifyChanged(tx, row, { withEnvironment })
    return rows
  }

  return {
    /** When it may begin; null for at once. */
    async setNotBefore(tx: Transaction, id: string, notBefore: number | null) {
      await change(
        tx,
        statement`UPDATE operations SET not_before = ${notBefore} WHERE id = ${id} AND done_time IS NULL`,
      )
    },

    /** A Rebuild that waits becomes a Clean Rebuild; an upload stays an upload. */
    async makeClean(tx: Transaction, id: string) {
      await change(
        tx,
        statement`UPDATE operations SET trigger_name = 'CLEAN_REBUILD' WHERE id = ${id} AND trigger_name = 'REBUILD'`,
      )
    },

    /** Ends an operation that no worker has taken, and those whose work it was to do. Resolves to the ids of all of them. */
    async abort(tx: Transaction, id: string, problem: Problem): Promise<string[]> {
      const error = JSON.stringify(operationError(problem))
      const rows = await change(
        tx,
        statement`
        UPDATE operations SET done_time = ${clock.now()}, phase = 'DONE', error = ${error}
        WHERE (id = ${id} OR satisfied_by = ${id}) AND done_time IS NULL AND lease_owner IS NULL`,
        { withEnvironment: true },
      )
      return rows.map((row) => row.id)
    },

    /** Gives the lease up as if the operation had never begun: nothing of it is done. Only the owner of the lease may. */
    async handOn(tx: Transaction, id: string, leaseOwner: string, to: HandedOn): Promise<boolean> {
      const [queue, satisfiedBy] = 'queue' in to ? [to.queue, null] : ['none', to.satisfiedBy]
      const rows = await change(
        tx,
        statement`
        UPDATE operations SET queue = ${queue}, satisfied_by = ${satisfiedBy}, lease_owner = NULL, lease_until = NULL,
          attempts = 0, phase = 'QUEUED'
        WHERE id = ${id} AND lease_owner = ${leaseOwner} AND done_time IS NULL`,
      )
      return rows.length > 0
    },

    /** Another operation does the work of this one, and of those whose work this one was to do. */
    async passOn(tx: Transaction, id: string, toId: string) {
      await tx.query(statement`
        UPDATE operations SET satisfied_by = ${toId} WHERE (id = ${id} OR satisfied_by = ${id}) AND done_time IS NULL`)
    },

    /**
     * The waiting operation is taken out of its queue, and ends as the other one will. The operations that it was to satisfy
     * follow, even those that ended as superseded: each names the operation that does the work, and none in between.
     */
    async satisfyBy(tx: Transaction, waitingId: string, byId: string) {
      await tx.query(statement`UPDATE operations SET satisfied_by = ${byId} WHERE satisfied_by = ${waitingId}`)
      await tx.query(statement`
        UPDATE operations SET queue = 'none', satisfied_by = ${byId}
        WHERE id = ${waitingId} AND done_time IS NULL AND lease_owner IS NULL`)
    },

    async setPhase(id: string, leaseOwner: string, phase: resources.Phase) {
      await sql.transaction((tx) =>
        change(
          tx,
          statement`
          UPDATE operations SET phase = ${phase} WHERE id = ${id} AND lease_owner = ${leaseOwner} AND done_time IS NULL`,
        ),
      )
    },

    /** `isUnchanged`: the deployment was live before, and nothing was switched. Resolves to the operation. */
    async setDeployment(
      tx: Transaction,
      id: string,
      deployment: string,
      { isUnchanged = false } = {},
    ): Promise<OperationRecord | undefined> {
      const [row] = await change(
        tx,
        statement`
        UPDATE operations SET deployment = ${deployment}, is_unchanged = ${isUnchanged ? 1 : 0} WHERE id = ${id}`,
      )
      return row && toRecord(row)
    },

    /** Asks all unfinished operations of an environment to end early. */
    async cancelAll(tx: Transaction, { accountId, environmentId }: OperationPath) {
      await tx.query(statement`
        UPDATE operations SET cancel_time = ${clock.now()}
        WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND done_time IS NULL
        AND cancel_time IS NULL`)
    },

    /**
     * Asks it to end early; its end shows whether it did. An operation that is done stays as it is, and so does one that was
     * asked before: false.
     */
    async cancel(tx: Transaction, path: OperationPath, id: string): Promise<boolean> {
      const { accountId, appName, environmentId } = await require(path, id, tx)
      const [asked] = await tx.query(statement`
        UPDATE operations SET cancel_time = ${clock.now()}
        WHERE id = ${id} AND done_time IS NULL AND cancel_time IS NULL RETURNING id`)
      if (asked) notifyChanged(tx, { id, account_id: accountId, app_name: appName, environment_id: environmentId })
      return asked !== undefined
    },

    /** Records how it ended: once, and only by the owner of the lease. Call `ended` after the commit. */
    async end(tx: Transaction, id: string, leaseOwner: string, ending: Ending): Promise<boolean> {
      const { response, error } = toColumns(ending)
      const isEnded = statement`done_time = ${clock.now()}, phase = 'DONE', response = ${response}, error = ${error}`
      const [row] = await change(
        tx,
        statement`
        UPDATE operations SET ${isEnded}, lease_owner = NULL, lease_until = NULL
        WHERE id = ${id} AND lease_owner = ${leaseOwner} AND done_time IS NULL`,
        { withEnvironment: true },
      )
      if (!row) return false
      await change(tx, statement`UPDATE operations SET ${isEnded} WHERE satisfied_by = ${id} AND done_time IS NULL`, {
        withEnvironment: true,
      })
      return true
    },
  }
}

/** Changes of the state of deployments. Every change notifies the followers of the account. */
import { notifyBelow } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Operations } from '../../operations/index.ts'
import { list, statement, type Transaction } from '../../storage/index.ts'

type Parts = { clock: Clock; operations: Pick<Operations, 'unfinishedOf'> }

export function createDeploymentStates({ clock, operations }: Parts) {
  async function change(tx: Transaction, update: ReturnType<typeof statement>) {
    const rows = await tx.query<{ id: string; environment_id: string }>(
      statement`${update} RETURNING id, environment_id`,
    )
    for (const { id, environment_id } of rows) await notifyBelow(tx, environment_id, `deployments/${id}`)
  }

  return {
    /** `namesContent`: its answers say what they are made of. */
    async setLive(tx: Transaction, id: string, { namesContent = false } = {}) {
      await change(
        tx,
        statement`
        UPDATE deployments SET state = 'LIVE', live_time = COALESCE(live_time, ${clock.now()}), retire_time = NULL,
          is_withdrawn = 0, names_content = ${namesContent ? 1 : 0}
        WHERE id = ${id}`,
      )
    },
    async setRetired(tx: Transaction, id: string) {
      await change(
        tx,
        statement`UPDATE deployments SET state = 'RETIRED', retire_time = ${clock.now()} WHERE id = ${id}`,
      )
    },
    async setFailed(tx: Transaction, operationId: string) {
      await change(
        tx,
        statement`UPDATE deployments SET state = 'FAILED' WHERE operation_id = ${operationId} AND state = 'STARTING'`,
      )
    },
    async setHeld(tx: Transaction, operationId: string) {
      await change(
        tx,
        statement`UPDATE deployments SET state = 'HELD' WHERE operation_id = ${operationId} AND state = 'STARTING'`,
      )
    },

    /** After a better build, held deployments give up their files, except for one that an operation is making live. */
    async discardHeld(tx: Transaction, environmentId: string) {
      const unfinished = await operations.unfinishedOf(tx, environmentId)
      const activated = unfinished.flatMap(({ activates }) => activates ?? [])
      const isSpare = activated.length > 0 ? statement`id NOT IN (${list(activated)})` : statement`1 = 1`
      await change(
        tx,
        statement`
        UPDATE deployments SET discard_time = ${clock.now()}, shell_variables = '[]'
        WHERE environment_id = ${environmentId} AND state = 'HELD' AND discard_time IS NULL AND ${isSpare}`,
      )
    },

    /** A discarded deployment never runs again, so its variables are removed: they are larger than everything else of it. */
    async discard(tx: Transaction, ids: readonly string[]) {
      if (ids.length === 0) return
      await change(
        tx,
        statement`
        UPDATE deployments SET discard_time = ${clock.now()}, shell_variables = '[]'
        WHERE id IN (${list(ids)}) AND state <> 'LIVE'`,
      )
    },
  }
}

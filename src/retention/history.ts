/**
 * The history of an environment is bounded: of its builds, its discarded deployments and its operations the newest stay in the
 * lists, and older rows are removed. A row that refers to files is never removed, nor one that another row refers to, nor the
 * last good build, with which a failure is compared. So rows go in this order: deployments, then builds without any, then
 * operations without either. The creation of an environment is remembered for good.
 */
import type { Builds } from '../builds/index.ts'
import type { Deployments } from '../deployments/index.ts'
import type { Operations } from '../operations/index.ts'
import type { Sql, Term, Transaction } from '../storage/index.ts'

/** Removed in one transaction, so that other writers do not wait for long. */
const AT_A_TIME = 500

type Parts = {
  sql: Sql
  builds: Pick<Builds, 'hasMoreThan' | 'oldOf' | 'remove' | 'operationsWithBuild'>
  deployments: Pick<Deployments, 'hasMoreThan' | 'removeOld' | 'buildsWithDeployment' | 'operationsWithDeployment'>
  operations: Pick<Operations, 'hasMoreThan' | 'oldOf' | 'remove' | 'unfinishedAmong'>
  keepHistory: number
}

/** Reads the next candidates, the oldest first: with an id greater than `after`, and no more than the limit. */
type ReadOld<Row> = (page: { kept: number; after: string; limit: number }) => Promise<Row[]>

export function createForget({ sql, builds, deployments, operations, keepHistory: kept }: Parts) {
  /** Goes through the candidates until there are enough that no other row refers to. */
  async function collect<Row extends { id: string }>(
    read: ReadOld<Row>,
    withoutReferred: (rows: readonly Row[]) => Promise<Row[]>,
  ): Promise<string[]> {
    const spare: string[] = []
    for (let after = ''; spare.length < AT_A_TIME; ) {
      const rows = await read({ kept, after, limit: AT_A_TIME })
      spare.push(...(await withoutReferred(rows)).map(({ id }) => id))
      const last = rows.at(-1)
      if (!last || rows.length < AT_A_TIME) break
      after = last.id
    }
    return spare.slice(0, AT_A_TIME)
  }

  async function removeBuilds(tx: Transaction, environmentId: string): Promise<number> {
    const ids = await collect(
      (page) => builds.oldOf(tx, environmentId, page),
      async (rows) => {
        const ids = rows.map(({ id }) => id)
        const deployed = await deployments.buildsWithDeployment(tx, environmentId, ids)
        const unfinished = await operations.unfinishedAmong(
          tx,
          rows.map(({ operationId }) => operationId),
        )
        return rows.filter(({ id, operationId }) => !deployed.has(id) && !unfinished.has(operationId))
      },
    )
    await builds.remove(tx, ids)
    return ids.length
  }

  async function removeOperations(tx: Transaction, environmentId: string): Promise<number> {
    const ids = await collect(
      async (page) => (await operations.oldOf(tx, environmentId, page)).map((id) => ({ id })),
      async (rows) => {
        const ids = rows.map(({ id }) => id)
        const built = await builds.operationsWithBuild(tx, ids)
        const deployed = await deployments.operationsWithDeployment(tx, ids)
        return rows.filter(({ id }) => !built.has(id) && !deployed.has(id))
      },
    )
    await operations.remove(tx, ids)
    return ids.length
  }

  const steps = [
    {
      isTooLong: deployments.hasMoreThan,
      remove: (tx: Transaction, id: string) => deployments.removeOld(tx, id, { kept, limit: AT_A_TIME }),
    },
    { isTooLong: builds.hasMoreThan, remove: removeBuilds },
    { isTooLong: operations.hasMoreThan, remove: removeOperations },
  ]

  /**
   * Resolves to the number of removed rows. The rest of a long history is removed in the next rounds. `term`: nothing is removed
   * unless this process still leads.
   */
  return async function forget(environmentId: string, term?: Pick<Term, 'check'>): Promise<number> {
    let count = 0
    for (const { isTooLong, remove } of steps) {
      // A read comes first: most of the time there is nothing to remove, and the write lock is not needed.
      if (!(await isTooLong(environmentId, kept))) continue
      count += await sql.transaction(async (tx) => {
        await term?.check(tx)
        return remove(tx, environmentId)
      })
    }
    return count
  }
}

export type Forget = ReturnType<typeof createForget>

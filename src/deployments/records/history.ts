/** The part of the history of an environment that its deployments make up, and the rows that they still refer to. */
import { list, type Reader, type Sql, statement, type Transaction } from '../../storage/index.ts'

export const createDeploymentHistory = (sql: Sql) => ({
  /** Whether an environment has more deployments than are kept. */
  async hasMoreThan(environmentId: string, kept: number): Promise<boolean> {
    const rows = await sql.query(statement`
      SELECT id FROM deployments WHERE environment_id = ${environmentId} ORDER BY id DESC LIMIT 1 OFFSET ${kept}`)
    return rows.length > 0
  },

  /** Removes the oldest discarded deployments that are not among the newest ones. Resolves to their number. */
  async removeOld(
    tx: Transaction,
    environmentId: string,
    { kept, limit }: { kept: number; limit: number },
  ): Promise<number> {
    const rows = await tx.query(statement`
      DELETE FROM deployments WHERE id IN (
        SELECT id FROM deployments
        WHERE environment_id = ${environmentId} AND discard_time IS NOT NULL AND id <= (
          SELECT id FROM deployments WHERE environment_id = ${environmentId} ORDER BY id DESC LIMIT 1 OFFSET ${kept})
        ORDER BY id LIMIT ${limit})
      RETURNING id`)
    return rows.length
  },

  /** Those of the given builds of an environment that a deployment was made of. */
  async buildsWithDeployment(reader: Reader, environmentId: string, ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const rows = await reader.query<{ build_id: string }>(statement`
      SELECT DISTINCT build_id FROM deployments WHERE environment_id = ${environmentId} AND build_id IN (${list(ids)})`)
    return new Set(rows.map(({ build_id }) => build_id))
  },

  /** Those of the given operations that made a deployment. */
  async operationsWithDeployment(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const rows = await reader.query<{ operation_id: string }>(
      statement`SELECT operation_id FROM deployments WHERE operation_id IN (${list(ids)})`,
    )
    return new Set(rows.map(({ operation_id }) => operation_id))
  },
})

/** Undefined if there is none. */
export async function newestDeploymentId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM deployments`)
  return row?.id ?? undefined
}

/** What the records of deployments say about the files of earlier ones. */
import { list, type Reader, type Sql, statement, type Transaction } from '../../storage/index.ts'

export const createEarlierRecords = (sql: Sql) => ({
  /**
   * The deployments of an environment that were live, the last one first: those that are kept, and those that were
   * replaced after a time.
   */
  async earlierOf(environmentId: string, { after, limit }: { after: number; limit: number }): Promise<string[]> {
    const rows = await sql.query<{ id: string }>(statement`
      SELECT id FROM deployments
      WHERE environment_id = ${environmentId} AND state = 'RETIRED' AND is_withdrawn = 0
        AND (discard_time IS NULL OR retire_time > ${after})
      ORDER BY retire_time DESC, id DESC LIMIT ${limit}`)
    return rows.map(({ id }) => id)
  },

  /** The same by environment, with a limit for each. */
  async earlierIn(
    environmentIds: readonly string[],
    { after, limit }: { after: number; limit: number },
  ): Promise<Map<string, string[]>> {
    const found = new Map<string, string[]>()
    for (let from = 0; from < environmentIds.length; from += AT_A_TIME) {
      const rows = await sql.query<{ id: string; environment_id: string }>(statement`
        SELECT id, environment_id FROM (
          SELECT id, environment_id,
            ROW_NUMBER() OVER (PARTITION BY environment_id ORDER BY retire_time DESC, id DESC) AS position
          FROM deployments
          WHERE environment_id IN (${list(environmentIds.slice(from, from + AT_A_TIME))})
            AND state = 'RETIRED' AND is_withdrawn = 0 AND (discard_time IS NULL OR retire_time > ${after})
        ) AS earlier
        WHERE position <= ${limit} ORDER BY environment_id, position`)
      for (const { id, environment_id } of rows) found.set(environment_id, [...(found.get(environment_id) ?? []), id])
    }
    return found
  },

  /** The index of earlier files that is used while a deployment is live; null for none. */
  async setEarlierIndex(tx: Transaction, id: string, index: string | null) {
    await tx.query(statement`UPDATE deployments SET earlier_index = ${index} WHERE id = ${id}`)
  },

  /** By deployment, for those that have one. */
  async earlierIndexesOf(ids: readonly string[], reader: Reader = sql): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    for (let from = 0; from < ids.length; from += AT_A_TIME) {
      const rows = await reader.query<{ id: string; earlier_index: string }>(statement`
        SELECT id, earlier_index FROM deployments
        WHERE id IN (${list(ids.slice(from, from + AT_A_TIME))}) AND earlier_index IS NOT NULL`)
      for (const { id, earlier_index } of rows) found.set(id, earlier_index)
    }
    return found
  },

  /** The files of deployments that are not live are not served any more, unless they become live again. */
  async withdrawEarlier(tx: Transaction, environmentId: string) {
    await tx.query(
      statement`UPDATE deployments SET is_withdrawn = 1 WHERE environment_id = ${environmentId} AND state = 'RETIRED'`,
    )
  },
})

/** A statement takes a limited number of values. */
const AT_A_TIME = 500

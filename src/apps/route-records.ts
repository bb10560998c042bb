/** What the edge must answer for: when that changed, and for which environments. */
import { list, type Sql, statement, type Transaction } from '../storage/index.ts'

export const routeRecordsOf = (sql: Sql) => ({
  /** Rises with every change of what the edge must answer for. */
  async routesRevision(): Promise<number> {
    const [row] = await sql.query<{ value: number }>(statement`SELECT value FROM revisions WHERE name = 'routes'`)
    return row?.value ?? 0
  },

  /** What the edge must answer for this environment has changed. */
  async touchRoutes(tx: Transaction, id: string) {
    await tx.query(statement`UPDATE revisions SET value = value + 1 WHERE name = 'routes'`)
    await tx.query(statement`
      INSERT INTO route_changes (environment_id, revision) SELECT ${id}, value FROM revisions WHERE name = 'routes'
      ON CONFLICT (environment_id) DO UPDATE SET revision = excluded.revision`)
  },

  /** Environments whose routes changed after that revision, also deleted ones; `max` of them at most. */
  async routesChangedSince(revision: number, max: number): Promise<string[]> {
    const rows = await sql.query<{ environment_id: string }>(statement`
      SELECT environment_id FROM route_changes WHERE revision > ${revision} ORDER BY revision LIMIT ${max}`)
    return rows.map(({ environment_id }) => environment_id)
  },

  /** Those of the labels that are the host label of an environment. */
  async labelsIn(labels: readonly string[]): Promise<Set<string>> {
    const rows = await sql.query<{ host_label: string }>(statement`
      SELECT host_label FROM environments WHERE host_label IN (${list(labels)}) AND state <> 'DELETING'`)
    return new Set(rows.map(({ host_label }) => host_label))
  },
})

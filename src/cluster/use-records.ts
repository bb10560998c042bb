/** What apps use: the memory of their instances, and requests in flight. No process follows these, so they have no number. */
import { list, rows, type Sql, statement, type Term } from '../storage/index.ts'
import { inParts } from './record-changes.ts'
import type { LoadRow } from './rows.ts'

export function createUseRecords(sql: Sql) {
  return {
    /** What instances of a node use, in bytes. */
    async setMemory(node: string, used: Readonly<Record<string, number>>) {
      if (Object.keys(used).length === 0) return
      await sql.transaction(async (tx) => {
        const deployments = await inParts(Object.entries(used), (some) =>
          tx.query<{ deployment: string }>(statement`
            UPDATE cluster_instances SET memory = CAST(given.column2 AS BIGINT)
            FROM (VALUES ${rows(some.map(([instance, bytes]) => [instance, String(bytes)]))}) AS given
            WHERE instance = given.column1 AND node = ${node} AND memory <> CAST(given.column2 AS BIGINT)
            RETURNING deployment`),
        )
        const changed = [...new Set(deployments.map(({ deployment }) => deployment))]
        await inParts(changed, (some) =>
          tx.query(statement`
            UPDATE cluster_apps SET memory = (
              SELECT MAX(memory) FROM cluster_instances used WHERE used.deployment = cluster_apps.deployment)
            WHERE deployment IN (${list(some)})`),
        )
      })
    },

    loads: async (): Promise<LoadRow[]> =>
      (await sql.query(statement`SELECT process, loads, beats FROM cluster_loads`)).map((row) => ({
        process: String(row.process),
        loads: JSON.parse(String(row.loads)) as LoadRow['loads'],
        beats: Number(row.beats),
      })),

    /** Requests in flight at the edges of a process; others than these have none. */
    async setLoads(process: string, loads: LoadRow['loads']) {
      await sql.transaction((tx) =>
        tx.query(statement`
          INSERT INTO cluster_loads (process, loads, beats) VALUES (${process}, ${JSON.stringify(loads)}, 1)
          ON CONFLICT (process) DO UPDATE SET loads = excluded.loads, beats = cluster_loads.beats + 1`),
      )
    },

    async removeLoads(processes: readonly string[], term?: Pick<Term, 'check'>) {
      await sql.transaction(async (tx) => {
        await term?.check(tx)
        await inParts(processes, (some) =>
          tx.query(statement`DELETE FROM cluster_loads WHERE process IN (${list(some)})`),
        )
      })
    },
  }
}

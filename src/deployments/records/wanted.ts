/** How many instances of each deployment should run: 0 while it sleeps. It outlives the process that starts and stops them. */
import type { Clock } from '../../base/index.ts'
import { type Sql, statement } from '../../storage/index.ts'

type Parts = { sql: Sql; clock: Clock }

export function createWantedInstances({ sql, clock }: Parts) {
  return {
    async set(deploymentId: string, instances: number) {
      await sql.transaction((tx) =>
        tx.query(statement`
          UPDATE deployments SET wanted_instances = ${instances}
          WHERE id = ${deploymentId} AND wanted_instances <> ${instances}`),
      )
    },

    async visited(deploymentIds: Iterable<string>) {
      const now = clock.now()
      await sql.transaction(async (tx) => {
        for (const id of deploymentIds)
          await tx.query(statement`UPDATE deployments SET visit_time = ${now} WHERE id = ${id}`)
      })
    },

    /** The live deployments that were awake, the last visited first. */
    async awake(): Promise<string[]> {
      const rows = await sql.query<{ id: string }>(statement`
        SELECT id FROM deployments WHERE wanted_instances > 0 AND state = 'LIVE'
        ORDER BY visit_time IS NULL, visit_time DESC, id DESC`)
      return rows.map(({ id }) => id)
    },
  }
}

export type WantedInstances = ReturnType<typeof createWantedInstances>

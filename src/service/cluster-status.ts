/** What operators see of the processes and machines of the installation. */
import type { resources } from '../contract/index.ts'
import type { Database } from '../data-folder.ts'
import type { Machine } from '../machine.ts'
import type { Config } from '../settings.ts'
import { version } from '../version.ts'

type Parts = { config: Config; database: Database; machine: Pick<Machine, 'isolation'> }

/** Its modules are loaded when an operator asks: most installations are one machine, and none of their other work needs them. */
export const createReadCluster =
  ({ config, database, machine }: Parts) =>
  async (): Promise<resources.Cluster> => {
    const { findings, readStatus, toResource } = await import('../cluster-status/index.ts')
    const { sql, clock, operations, accounts } = database
    const { atWork } = operations
    const status = await readStatus({ sql, clock, version, isShared: config.databaseUrl !== undefined, atWork })
    const owners = [...new Set(status.working.map(({ account }) => account))]
    // A control process of a cluster runs no programs, so it has nothing to say about how they are kept apart.
    const weaknesses = config.engine === 'local' ? machine.isolation.weaknesses : []
    return toResource({
      status,
      findings: [...findings(status), ...weaknesses.map(weakness)],
      accounts: await accounts.namesOf(owners),
    })
  }

const weakness = (found: string) => ({
  part: 'isolation',
  state: 'weaker' as const,
  found,
  advice: 'Run `headland doctor` on the machine: it says what is missing.',
})

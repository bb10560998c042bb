/** What runs apps, and the server that they call from inside their sandbox. */
import { createInAppServer } from '../api/index.ts'
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import { createAppVariables, createFolders, createPurges } from '../deployments/index.ts'
import type { Edge } from '../edge/index.ts'
import { createKv } from '../kv/index.ts'
import type { Machine } from '../machine.ts'
import { createSupervisor } from '../runtime/index.ts'
import type { Config } from '../settings.ts'
import { ceilingsOf } from './limits.ts'
import type { Records } from './records.ts'

type Parts = {
  config: Config
  log: Log
  database: Database
  machine: Machine
  edge: Edge
  records: Records
  /** Whether an environment may keep so much more in the key-value store. */
  admitKvGrowth: NonNullable<Parameters<typeof createKv>[0]['admitGrowth']>
}

export function createHosting({ config, log, database, machine, edge, records, admitKvGrowth }: Parts) {
  const { sql, clock, environments } = database
  const { engine, networks, canChooseUsers } = machine
  const { tokens, ledger, revalidations } = records
  const { AWAKE_APPS, APP_MEMORY } = ceilingsOf(config)

  const folders = createFolders(config.dataDir, { canChooseUsers })
  const supervisor = createSupervisor({
    engine,
    networks,
    clock,
    log,
    startDeadlineMs: config.startTimeout * 1000,
    awakeLimits: { apps: AWAKE_APPS, memoryBytes: APP_MEMORY },
  })
  const purges = createPurges({ sql, clock, ledger, edge, revalidations, supervisor })
  const values = createKv({ clock, folderOf: folders.values, admitGrowth: admitKvGrowth })
  const inApp = createInAppServer({ clock, log, environments, tokens, purges, values })
  return { folders, supervisor, purges, inApp }
}

export type Hosting = ReturnType<typeof createHosting>

type ListenParts = { database: Database; machine: Machine; records: Records; hosting: Hosting }

/** Opens the server to apps. Returns the variables that an app gets, among them where that server is. */
export async function listenToApps({ database, machine, records, hosting }: ListenParts) {
  const { networks } = machine
  const listening = await hosting.inApp.listen(networks?.gateway ?? '127.0.0.1')
  await networks?.openService(listening.port)
  const { variables, tokens } = records
  return createAppVariables({ variables, cmsInstalls: database.cmsInstalls, tokens, inApp: listening.urls })
}

export type AppVariables = Awaited<ReturnType<typeof listenToApps>>

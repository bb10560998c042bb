/** What runs apps, and the server that they call from inside their sandbox. */
import type { BuildNetworks } from '../agent/index.ts'
import { createInAppServer, inAppUrlsAt } from '../api/index.ts'
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import { createAppVariables, createFolders, createPurges } from '../deployments/index.ts'
import type { Edges } from '../edge/index.ts'
import { type AdmitGrowth, createFolderKv, openStoredKv } from '../kv/index.ts'
import type { Machine } from '../machine.ts'
import type { Instances } from '../runtime/index.ts'
import type { Config } from '../settings.ts'
import { hasRetentionHold } from '../storage/index.ts'
import type { Records } from './records.ts'
import type { Stores } from './stores.ts'

type Parts = {
  config: Config
  log: Log
  database: Database
  machine: Machine
  instances: Instances
  edges: Pick<Edges, 'purge' | 'leaseMs'> & Partial<Pick<Edges, 'controlCount'>>
  records: Records
  stores: Stores
  /** Whether an environment may keep so much more in the key-value store. */
  admitKvGrowth: AdmitGrowth
}

export async function openHosting(parts: Parts) {
  const { config, log, database, machine, instances, edges, records, admitKvGrowth: admitGrowth } = parts
  const { sql, clock, environments } = database
  const { canChooseUsers } = machine
  const { tokens, ledger, revalidations } = records

  const folders = createFolders(config.dataDir, { canChooseUsers })
  const isSpread = config.engine === 'swarm'
  const purges = createPurges({ sql, clock, ledger, edges, revalidations, instances, isSpread })
  const { valueBlobs: blobs } = parts.stores
  const { exists } = environments
  const isHeld = () => hasRetentionHold(sql, clock.now())
  /** Undefined where values are files. */
  const storedValues = blobs && (await openStoredKv({ sql, clock, log, blobs, folders, exists, isHeld, admitGrowth }))
  const values = storedValues ?? createFolderKv({ clock, folderOf: folders.values, admitGrowth })
  /** With SQLite there is one control process; two during a reload, which share nothing. */
  const sharers = () => (config.databaseUrl === undefined ? 1 : (edges.controlCount?.() ?? 1))
  const inApp = createInAppServer({ clock, log, environments, tokens, purges, revalidations, values, sharers })
  return { folders, instances, purges, inApp, storedValues, sharers }
}

export type Hosting = Awaited<ReturnType<typeof openHosting>>

type VariableParts = { database: Database; records: Records }

type ListenParts = VariableParts & { hosting: Hosting; networks: BuildNetworks | undefined; fds: readonly number[] }

/**
 * Opens the server to apps, at the gateway of each agent: those of the newest agent first. Returns the variables that an app gets, among them where that server is; and how
 * the agent is told.
 */
export async function listenToApps({ networks, hosting, fds: [newest, ...older], ...parts }: ListenParts) {
  if (newest === undefined) throw new Error('there is no socket for apps')
  const listening = await hosting.inApp.listen({ fd: newest })
  const all = [listening, ...(await Promise.all(older.map((fd) => hosting.inApp.listenAlso({ fd }))))]
  const reopenService = async () => {
    for (const { host, port } of all) await networks?.openService({ gateway: host, port })
  }
  await reopenService()
  return { appVariables: variablesWith(parts, listening.urls), reopenService }
}

/** The variables of apps on a swarm, which reach control processes at an address that the operator has set. */
export function variablesOfSwarm({ config: { inAppUrl }, ...parts }: VariableParts & { config: Config }): AppVariables {
  if (inAppUrl === undefined) throw new Error('the setting inAppUrl is missing')
  return variablesWith(parts, inAppUrlsAt(inAppUrl))
}

const variablesWith = (
  { database: { cmsInstalls }, records: { variables, tokens } }: VariableParts,
  inApp: { appsApi: string; kvStore: string },
) => createAppVariables({ variables, cmsInstalls, tokens, inApp })

export type AppVariables = ReturnType<typeof createAppVariables>

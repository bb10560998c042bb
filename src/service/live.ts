/** What is live: which deployment each host name leads to, and the start of the servers behind them. */
import { siteUrls } from '../addresses.ts'
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import { createEarlierFiles, createImageSteps, createLauncher, createRouting } from '../deployments/index.ts'
import type { Edges } from '../edge/index.ts'
import type { Machine } from '../machine.ts'
import type { Config } from '../settings.ts'
import type { AppVariables, Hosting } from './hosting.ts'
import type { Records } from './records.ts'
import type { Stores } from './stores.ts'

type LiveEdges = Pick<Edges, 'setRoutes' | 'serving' | 'onConnected' | 'routed' | 'untilOthersRouted'>

type Parts = {
  config: Config
  log: Log
  database: Database
  machine: Machine
  edges: LiveEdges
  /** The port at which visitors reach the edges. */
  edgePort: number
  records: Records
  stores: Stores
  hosting: Hosting
  appVariables: AppVariables
}

const HOUR_MS = 60 * 60_000

export function createLive(parts: Parts) {
  const { config, log, database, machine, edges, edgePort, records, stores, hosting, appVariables } = parts
  const { sql, clock, changes, accounts, environments } = database
  const { cookieKeyOf, domains, builds, deployments, revalidations, wantedInstances } = records
  const { outputs, packages, images, logs } = stores
  const { folders, instances } = hosting
  const { domain } = config
  const isOnSwarm = config.engine === 'swarm'

  const keepEarlierMs = config.keepEarlierFiles * HOUR_MS

  const routing = createRouting({
    clock,
    log,
    environments,
    cookieKeyOf,
    deployments,
    domains,
    outputs,
    images: config.clusterListen ? images : undefined,
    keepEarlierMs,
    folders,
    edges,
    domain,
    others: config.databaseUrl && { ...edges, changes },
  })
  const earlierFiles = createEarlierFiles({
    sql,
    clock,
    log,
    environments,
    deployments,
    outputs,
    folders,
    routing,
    // Edges of other machines make an index of their own.
    keepMs: isOnSwarm ? 0 : keepEarlierMs,
    hasEdgesElsewhere: isOnSwarm || config.clusterListen !== undefined,
  })
  const launcher = createLauncher({
    sql,
    clock,
    log,
    changes,
    environments,
    builds,
    deployments,
    revalidations,
    wantedInstances,
    // A node has them in the image.
    outputs: isOnSwarm ? { layersOf: async () => [] } : outputs,
    packages,
    // What an app writes is on its node.
    folders: isOnSwarm ? { ...folders, hasRun: async () => true } : folders,
    logs,
    instances,
    toolchains: machine.toolchains,
    appLimits: machine.limits.app,
    appVariables,
    domain,
  })
  const imageSteps = createImageSteps({
    sql,
    log,
    images,
    accounts,
    environments,
    deployments,
    builds,
    outputs,
    packages,
    folders,
    toolchains: machine.toolchains,
    needsFiles: !isOnSwarm,
    hasInitial: isOnSwarm,
  })
  return { routing, launcher, imageSteps, earlierFiles, siteUrl: siteUrls(config, edgePort) }
}

export type Live = ReturnType<typeof createLive>

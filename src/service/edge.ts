/** The edges, which answer visitors, and the counts and records of what they got. */

import { cannotListen } from '../addresses.ts'
import { type Log, processName } from '../base/index.ts'
import { CLUSTER_KEY_PLACE, type ClusterPort, openClusterPort, PROTOCOL } from '../channel/index.ts'
import type { DataFiles } from '../data-files.ts'
import type { Database } from '../data-folder.ts'
import { createPurgeLog, followTokens } from '../deployments/index.ts'
import {
  createEdgeTls,
  type Edges,
  type EdgesElsewhere,
  followEdgesElsewhere,
  LATENCY_BOUNDS_MS,
  LEASE_OVER_NETWORK_MS,
  listenToEdges,
} from '../edge/index.ts'
import { createFirstVisits, type PublishRecords } from '../publishes/index.ts'
import { createRequestLog, forgetRequestLogs, type RequestLog } from '../request-log/index.ts'
import type { Config } from '../settings.ts'
import type { LineLogs, Vault } from '../storage/index.ts'
import { createTraffic, createTrafficPaths, forgetTrafficPaths } from '../traffic/index.ts'
import { version } from '../version.ts'

type TrafficParts = { config: Config; log: Log; database: Database }

async function openTraffic({ config, log, database }: TrafficParts) {
  const { sql, clock, environments } = database
  const existingEnvironments = environments.existing
  if (!config.countPaths) await forgetTrafficPaths(sql)
  const paths = config.countPaths ? createTrafficPaths({ sql, clock, existingEnvironments }) : undefined
  return createTraffic({ sql, clock, log, existingEnvironments, boundsMs: LATENCY_BOUNDS_MS, paths })
}

type RequestLogParts = TrafficParts & { logs: LineLogs }

/** Undefined where requests are not recorded. */
async function openRequestLog(parts: RequestLogParts): Promise<RequestLog | undefined> {
  const { config, log, database, logs } = parts
  const { sql, clock, environments } = database
  if (!config.requestLog) {
    await forgetRequestLogs(logs)
    return undefined
  }
  return createRequestLog({
    sql,
    clock,
    log,
    logs,
    existingEnvironments: environments.existing,
    maxBytes: config.requestLogBytes,
    maxAgeMs: config.requestLogDays * DAY_MS,
  })
}

const DAY_MS = 24 * 60 * 60 * 1000

type PortParts = {
  config: Config
  log: Log
  vault: Pick<Vault, 'derive'>
  database: Database
  started: AsyncDisposableStack
}

const greeting = { protocol: PROTOCOL, role: 'control', process: processName(), version }

/** Where processes of other machines connect; undefined where they cannot. */
async function listenToCluster(parts: PortParts): Promise<ClusterPort | undefined> {
  const { config, log, vault, database, started } = parts
  const { clusterListen } = config
  if (!clusterListen) return undefined
  const tokens = await followTokens({ ...database, log })
  started.defer(() => tokens.stop())
  const opened = await openClusterPort({
    address: { ...clusterListen, key: vault.derive(CLUSTER_KEY_PLACE), isValid: tokens.isValid },
    greeting,
    onRefused: (error) => log.warn({ err: error }, 'a process of another machine could not connect'),
  }).catch(cannotListen('clusterListen', clusterListen))
  tokens.onChange(() => opened.endInvalid())
  log.info({ port: opened.port }, 'edges of other machines can connect')
  return opened
}

type EdgeParts = {
  config: Config
  files: DataFiles
  log: Log
  database: Database
  clusterPort: ClusterPort | undefined
}

function openEdges({ config, files, log, database, clusterPort: port }: EdgeParts): Promise<Edges> {
  const { sql, clock, changes } = database
  return listenToEdges({
    clock,
    log,
    path: files.controlSocket,
    port,
    greeting,
    records: createPurgeLog({ sql, clock, changes }),
    ...(config.databaseUrl ? { leaseMs: LEASE_OVER_NETWORK_MS } : {}),
  })
}

type VisitorParts = {
  config: Config
  files: DataFiles
  log: Log
  database: Database
  vault: Vault
  logs: LineLogs
  publishRecords: PublishRecords
  started: AsyncDisposableStack
  /** How long edges may take to leave at the end. */
  graceMs: number
}

/** The edges, which have been answering visitors all the time, and what they report. */
export async function openVisitorSide(parts: VisitorParts) {
  const { config, files, log, database, vault, logs, publishRecords, started, graceMs } = parts
  const traffic = await openTraffic({ config, log, database })
  // Stops after the edges, which send their last counts when they stop.
  started.defer(() => traffic.stop())
  const requestLog = await openRequestLog({ config, log, database, logs })
  started.defer(async () => requestLog?.stop())
  const clusterPort = await listenToCluster({ config, log, vault, database, started })
  const edges = await openEdges({ config, files, log, database, clusterPort })
  started.defer(() => edges.close(graceMs))
  edges.onTraffic(traffic.receive)
  const firstVisits = createFirstVisits({ ...database, log, records: publishRecords })
  edges.onTraffic((environments) => void firstVisits.receive(environments))
  const edgeTls = createEdgeTls({ clock: database.clock, edges })
  traffic.start()
  if (requestLog) edges.onRequests(requestLog.receive)
  requestLog?.start()
  return { traffic, requestLog, clusterPort, edges, edgeTls }
}

/** For a process that no edge follows. */
export function openEdgesElsewhere({ log, database }: { log: Log; database: Database }): Promise<EdgesElsewhere> {
  const { sql, clock, changes } = database
  const records = createPurgeLog({ sql, clock, changes })
  return followEdgesElsewhere({ clock, log, records, leaseMs: LEASE_OVER_NETWORK_MS })
}

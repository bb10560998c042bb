/** The edge process, which answers visitors, and the counts of what they got. */
import { cannotListen } from '../addresses.ts'
import type { Log } from '../base/index.ts'
import type { Database, DataFiles } from '../data-folder.ts'
import { type Edge, LATENCY_BOUNDS_MS, startEdge } from '../edge/index.ts'
import type { Config } from '../settings.ts'
import { createTraffic, createTrafficPaths, forgetTrafficPaths } from '../traffic/index.ts'

type TrafficParts = { config: Config; log: Log; database: Database }

export async function openTraffic({ config, log, database }: TrafficParts) {
  const { sql, clock, environments } = database
  const existingEnvironments = environments.existing
  if (!config.countPaths) await forgetTrafficPaths(sql)
  const paths = config.countPaths ? createTrafficPaths({ sql, clock, existingEnvironments }) : undefined
  return createTraffic({ sql, clock, log, existingEnvironments, boundsMs: LATENCY_BOUNDS_MS, paths })
}

type EdgeParts = { config: Config; files: DataFiles; log: Log; database: Database }

export async function startEdgeProcess({ config, files, log, database }: EdgeParts): Promise<Edge> {
  const { edgeListen, trustedProxies, countPaths, cacheMemory, cacheDisk } = config
  const edge = await startEdge({
    clock: database.clock,
    log,
    host: edgeListen.host,
    port: edgeListen.port,
    tableFile: files.routeTable,
    cache: { memoryBytes: cacheMemory, folder: files.cache, diskBytes: cacheDisk },
    trustedProxies,
    countsPaths: countPaths,
  }).catch(cannotListen('edgeListen', edgeListen))
  log.info({ edgePid: edge.pid(), port: edge.address.port }, 'the edge listens')
  return edge
}

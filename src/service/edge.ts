/** The edges, which answer visitors, and the counts of what they got. */
import { type Log, processName } from '../base/index.ts'
import { PROTOCOL } from '../channel/index.ts'
import type { DataFiles } from '../data-files.ts'
import type { Database } from '../data-folder.ts'
import { createPurgeLog } from '../deployments/index.ts'
import { type Edges, LATENCY_BOUNDS_MS, listenToEdges } from '../edge/index.ts'
import type { Config } from '../settings.ts'
import { createTraffic, createTrafficPaths, forgetTrafficPaths } from '../traffic/index.ts'
import { version } from '../version.ts'

type TrafficParts = { config: Config; log: Log; database: Database }

export async function openTraffic({ config, log, database }: TrafficParts) {
  const { sql, clock, environments } = database
  const existingEnvironments = environments.existing
  if (!config.countPaths) await forgetTrafficPaths(sql)
  const paths = config.countPaths ? createTrafficPaths({ sql, clock, existingEnvironments }) : undefined
  return createTraffic({ sql, clock, log, existingEnvironments, boundsMs: LATENCY_BOUNDS_MS, paths })
}

type EdgeParts = { files: DataFiles; log: Log; database: Database }

export const openEdges = ({ files, log, database: { sql, clock } }: EdgeParts): Promise<Edges> =>
  listenToEdges({
    clock,
    log,
    path: files.controlSocket,
    greeting: { protocol: PROTOCOL, role: 'control', process: processName(), version },
    records: createPurgeLog({ sql, clock }),
  })

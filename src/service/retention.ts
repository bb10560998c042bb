/** What may stay on the disk and in the database, and how much of it each account may have. */
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import type { Machine } from '../machine.ts'
import { createRetention } from '../retention/index.ts'
import type { Config } from '../settings.ts'
import type { Hosting } from './hosting.ts'
import type { Records } from './records.ts'
import type { Stores } from './stores.ts'

type Parts = {
  config: Config
  log: Log
  database: Database
  machine: Machine
  records: Records
  stores: Stores
  hosting: Hosting
  tendEarlierFiles(environmentId: string): Promise<void>
}

export function assembleRetention(parts: Parts) {
  const { config, log, database, machine, records, stores, hosting, tendEarlierFiles } = parts
  const { sql, clock, accounts, environments, operations } = database
  const { builds, buildRetention, deployments, repositories, snapshotRecords } = records
  const {
    archives,
    sharesArchives,
    outputs,
    images,
    packages,
    tarballs,
    logs,
    storedLogs,
    logMoving,
    storedCaches,
    ballast,
  } = stores
  const { folders, instances, storedValues } = hosting
  const { dataDir, keepHistory, keepDeployments, accountBytes, accountFiles, diskReserve } = config
  return createRetention({
    sql,
    clock,
    log,
    accounts,
    environments,
    operations,
    builds,
    buildRetention,
    deployments,
    archives,
    repositories,
    snapshotRecords,
    sharesArchives,
    outputs,
    images,
    packages,
    tarballs,
    logs,
    storedLogs,
    logMoving,
    storedCaches,
    storedValues,
    ballast,
    toolchains: machine.toolchains,
    folders,
    instances,
    tendEarlierFiles,
    isSpread: config.engine === 'swarm',
    dataDir,
    keepHistory,
    keepDeployments,
    accountBytes,
    accountFiles,
    diskReserve,
  })
}

export type Retention = ReturnType<typeof createRetention>

/**
 * Works on the operations that were asked for, asks for rebuilds that are due, by a schedule or as they could not reach their
 * CMS, and deletes previews that are idle.
 */
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import { createRetry } from '../deployments/index.ts'
import type { Machine } from '../machine.ts'
import { startWorker } from '../operations/index.ts'
import { createPreviewRemoval } from '../previews/index.ts'
import { createScheduleRuns } from '../schedules/index.ts'
import type { Config } from '../settings.ts'
import type { LeaderWork } from '../storage/index.ts'
import type { Traffic } from '../traffic/index.ts'
import type { Admission } from './admission.ts'
import type { Deploying } from './deploying.ts'
import { ceilingsOf } from './limits.ts'
import type { Records } from './records.ts'
import type { Requests } from './requests.ts'

const QUICK_CONCURRENCY = 8
/** Builds that run no program of an app, beside those that do. */
const LIGHT_CONCURRENCY = 2

type WorkerParts = {
  config: Config
  log: Log
  database: Database
  handlers: Deploying['handlers']
  onEnd: Deploying['onEnd']
  mayWork: Promise<void>
  /** Whether this process builds. */
  isBuilding: boolean
}

export function startOperations(parts: WorkerParts) {
  const { config, log, database, handlers, onEnd, mayWork, isBuilding } = parts
  const { sql, clock, accounts, operations } = database
  const { RUNNING_BUILDS } = ceilingsOf(config)
  return startWorker({
    sql,
    clock,
    log,
    operations,
    hasSeveralAccounts: accounts.areSeveral,
    handlers,
    onEnd,
    mayBegin: mayWork,
    concurrency: {
      quick: QUICK_CONCURRENCY,
      light: isBuilding ? LIGHT_CONCURRENCY : 0,
      build: isBuilding ? config.concurrency : 0,
    },
    ...(RUNNING_BUILDS > 0 ? { perAccount: { build: RUNNING_BUILDS } } : {}),
  })
}

/** How often to look for rebuilds that are to be tried again. */
const RETRY_LOOK_MS = 5000

type RetryParts = {
  config: Config
  log: Log
  database: Database
  machine: Machine
  records: Records
  deploying: Deploying
  admission: Admission
}

export function createRetrying(parts: RetryParts): LeaderWork {
  const { config, log, database, machine, records, deploying, admission } = parts
  const { sql, clock, accounts, environments, operations } = database
  return (term) =>
    createRetry({
      sql,
      clock,
      log,
      accounts,
      environments,
      operations,
      retries: records.retries,
      buildRequests: deploying.buildRequests,
      admitBuild: admission.admitBuild,
      answers: machine.networks?.answers,
      onGivenUp: deploying.buildNotices.givenUp,
      term,
      lookMs: Math.min(RETRY_LOOK_MS, config.retryInterval * 1000),
    }).start()
}

type ScheduleParts = Omit<RetryParts, 'config' | 'machine'> & { clearCache: Requests['clearCache'] }

export function createScheduling({
  log,
  database,
  records,
  deploying,
  admission,
  clearCache,
}: ScheduleParts): LeaderWork {
  const { sql, clock, accounts, environments, operations } = database
  return (term) =>
    createScheduleRuns({
      sql,
      clock,
      log,
      accounts,
      environments,
      operations,
      records: records.scheduleRecords,
      ledger: records.ledger,
      buildRequests: deploying.buildRequests,
      clearCache,
      admitBuild: admission.admitBuild,
      term,
    }).start()
}

type RemovalParts = Pick<RetryParts, 'log' | 'database' | 'records'> & {
  requests: Requests['requests']
  traffic: Pick<Traffic, 'lastVisits'>
}

export function createRemovingPreviews({ log, database, records, requests, traffic }: RemovalParts): LeaderWork {
  const { sql, clock, accounts, environments, operations } = database
  const { previewRecords } = records
  return (term) =>
    createPreviewRemoval({
      sql,
      clock,
      log,
      accounts,
      environments,
      operations,
      records: previewRecords,
      requests,
      lastVisits: async () => traffic.lastVisits(await previewRecords.ids()),
      term,
    }).start()
}

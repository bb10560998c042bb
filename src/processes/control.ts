/** The control process: what it is made of, in the order in which it starts. It stops in the reverse order. */
import { createAuditPruning } from '../audit/index.ts'
import { createLog } from '../base/index.ts'
import { filesIn } from '../data-files.ts'
import type { Edges } from '../edge/index.ts'
import { openPortal } from '../portal/index.ts'
import {
  assembleApi,
  assembleCertificates,
  assembleGit,
  assembleMetrics,
  assembleNotifying,
  assembleRepositories,
  assembleRequests,
  createAdmission,
  createConditionWork,
  createDeploying,
  createFetching,
  createOnStall,
  createRemovingPreviews,
  createRetrying,
  createScheduling,
  createStatuses,
  openScreenshots,
  openState,
  openVisitorSide,
  runOnAgent,
  startOperations,
} from '../service/index.ts'
import { type Config, formatListen, type Listen } from '../settings.ts'
import { createLeadership } from '../storage/index.ts'
import { watchStalls } from '../watchdog/index.ts'
import { welcome } from '../welcome.ts'
import { type ChildLife, createChildLife, FIRST_SOCKET } from './child.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = {
  api: 5_000,
  worker: 10_000,
  fetches: 2_000,
  edges: 5_000,
  retention: 2_000,
  certificates: 2_000,
  leadership: 3_000,
}

/** The descriptors of its sockets. */
const SOCKETS = { api: FIRST_SOCKET, inApp: FIRST_SOCKET + 1 }

/**
 * Where the edges listen, how many sockets there are for apps, and whether another control process goes on until this one is
 * told to take over.
 */
export type ControlBegin = { edge: Listen; inAppCount: number; isReload: boolean }
export type ControlReady = { api: string; edge: string }

export async function runControlProcess(config: Config) {
  const life: ChildLife<ControlBegin, ControlReady> = createChildLife({ endsAtSigterm: true })
  const begin = await life.begin
  const started = new AsyncDisposableStack()
  try {
    // Started again, this process would take an empty data folder for a new one.
    const mayWork = begin.isReload ? life.takeOverRequested : Promise.resolve()
    const { api, edges, reopen } = await start({ config, begin, started, mayWork, onDeath: life.fail })
    life.onRelisten(reopen)
    life.ready({ api, edge: `http://${formatListen(begin.edge)}` })
    mayWork.then(life.tookOver)
    const { isReplaced } = await life.stopRequested
    // The edges follow the process that takes over.
    if (isReplaced) await edges.close(0)
  } finally {
    await started.disposeAsync()
  }
  life.leave()
}

type Started = {
  api: string
  edges: Edges
  /** Takes the Unix sockets again, after another process had taken them. */
  reopen(): void
}

type Parts = {
  config: Config
  begin: ControlBegin
  started: AsyncDisposableStack
  /** Operations are not begun before. */
  mayWork: Promise<void>
  onDeath(error: Error): void
}

async function start({ config, begin, started, mayWork, onDeath }: Parts): Promise<Started> {
  const files = filesIn(config.dataDir)
  const log = createLog(config.logLevel, config.logFormat)
  const { isReload } = begin

  const state = await openState({ config, files, log, started, isReload, onDeath })
  const { database, vault, records, stores } = state
  const leadership = createLeadership({ clock: database.clock, log, election: await database.openElection() })
  const { publishRecords } = records
  const readers = { logs: stores.logs, publishRecords }
  const visitorParts = { config, files, log, database, vault, ...readers, started, graceMs: GRACE_MS.edges }
  const { traffic, requestLog, clusterPort, edges, edgeTls } = await openVisitorSide(visitorParts)

  // What apps run on, and what is live.
  const inAppFds = Array.from({ length: begin.inAppCount }, (_, at) => SOCKETS.inApp + at)
  const appParts = { config, files, log, state, started, edges, edgePort: begin.edge.port, inAppFds }
  const isLocal = config.engine === 'local'
  const { machine, hosting, retention, live, appVariables, regions, gitWorkers } = isLocal
    ? await runOnAgent(appParts)
    : await (await import('../service/on-swarm.ts')).runOnSwarm({ ...appParts, clusterPort, leadership })
  const parts = { config, log, database, machine, records, stores, hosting }
  await live.routing.start()
  started.defer(() => live.routing.stop())
  // In a reload, the edges follow the old control process until it is gone.
  if (!isReload && config.roles.includes('edge')) await edges.untilRouted(config.edges)

  // Operations are worked on from here on.
  const { mostVisited } = traffic
  const screenshots = await openScreenshots({ ...parts, files, live, edge: begin.edge })
  started.defer(() => screenshots.stop())
  const { switched: onLive } = screenshots
  const deploying = createDeploying({ ...parts, appVariables, live, retention, onLive, mostVisited })
  const { handlers, onEnd } = deploying
  const worker = startOperations({ config, log, database, handlers, onEnd, mayWork, isBuilding: isLocal })
  started.defer(() => worker.stop(GRACE_MS.worker))
  retention.start(leadership.known)
  started.defer(() => retention.stop(GRACE_MS.retention))
  leadership.lead(retention.lead)
  leadership.lead(createAuditPruning({ sql: database.sql, clock: database.clock, log }).lead)
  const metrics = assembleMetrics({ database, edges, worker, retention, leadership })
  const onStall = createOnStall({ config, log, metrics })
  edges.onStall(onStall('edge'))
  started.defer(watchStalls(onStall('control')))
  const admission = createAdmission({ config, database, machine, retention })
  const requests = assembleRequests({ config, database, records, hosting, live, deploying, admission })
  leadership.lead(createRetrying({ config, log, database, machine, records, deploying, admission }))
  const { clearCache } = requests
  leadership.lead(createScheduling({ log, database, records, deploying, admission, clearCache }))
  leadership.lead(createRemovingPreviews({ log, database, records, traffic, requests: requests.requests }))

  const { previews } = requests
  const gitModules = assembleGit({ ...parts, files, deploying, admission, previews })

  // Notices are sent from here on.
  const known: { url?: string } = {}
  const publicUrl = () => config.publicUrl ?? known.url ?? ''
  const notifying = assembleNotifying({ config, log, database, records, publicUrl })
  leadership.lead(notifying.lead)

  const { branches } = gitModules
  // With apps on a swarm, workers fetch.
  const fetching = isLocal ? createFetching({ ...parts, files, deploying, admission, retention, branches }) : undefined
  const announce = () => fetching?.announce()
  const connected = assembleRepositories({ database, records, requests, branches, previews, announce })
  leadership.lead(createStatuses({ config, log, database, records, live, publicUrl }))
  started.defer(() => fetching?.stop(GRACE_MS.fetches))
  mayWork.then(() => fetching?.start())

  // Certificates are got from here on.
  const certificateParts = { config, log, database, vault, records, edges, edgeTls }
  const { certificates, ...certificateWork } = assembleCertificates(certificateParts)
  started.defer(() => certificateWork.stop(GRACE_MS.certificates))
  leadership.lead(certificateWork.worker.lead)
  mayWork.then(() => certificateWork.worker.start())
  const { records: certificateRecords } = certificateWork
  leadership.lead(createConditionWork({ ...parts, live, retention, certificates: certificateRecords }))

  // What one of several control processes does alone. In a reload, the old one goes on with it until it is gone.
  started.defer(() => leadership.stop(GRACE_MS.leadership))
  mayWork.then(() => leadership.start())

  // Users and webhooks are answered from here on.
  const portal = openPortal({ log })
  started.defer(() => portal.stop())
  const api = assembleApi({
    ...parts,
    edges,
    traffic,
    requestLog,
    retention,
    live,
    deploying,
    screenshots,
    metrics,
    admission,
    requests,
    notifying,
    certificates,
    ...gitModules,
    gitWorkers,
    ...connected,
    portal,
    regions,
  })
  started.defer(() => api.stop(GRACE_MS.api))
  const apiUrl = await api.listen(SOCKETS.api)
  known.url = apiUrl
  await api.listenToEdges()
  await welcome(database, api.publicUrl(), config.domain, live.siteUrl)
  return {
    api: apiUrl,
    edges,
    reopen() {
      Promise.all([edges.reopen(), api.listenToEdges()]).catch((error) =>
        log.error({ err: error }, 'edges cannot connect'),
      )
    },
  }
}

/** The control process: what it is made of, in the order in which it starts. It stops in the reverse order. */
import { createAgentClient } from '../agent/index.ts'
import { createLog, type Log } from '../base/index.ts'
import { filesIn } from '../data-files.ts'
import { openDatabase } from '../data-folder.ts'
import { recordVisits } from '../deployments/index.ts'
import { createEdgeTls, type Edges } from '../edge/index.ts'
import { openMachine } from '../machine.ts'
import { openPortal } from '../portal/index.ts'
import {
  assembleApi,
  assembleCertificates,
  assembleMetrics,
  assembleRequests,
  assembleRetention,
  createAdmission,
  createDeploying,
  createLive,
  createOnStall,
  createRecords,
  createRestoring,
  createRetrying,
  listenToApps,
  listenToCluster,
  openEdges,
  openHosting,
  openRequestLog,
  openStores,
  openTraffic,
  startOperations,
} from '../service/index.ts'
import { type Config, formatListen, type Listen } from '../settings.ts'
import { createLeadership, openVault, watchPlace } from '../storage/index.ts'
import { version } from '../version.ts'
import { watchStalls } from '../watchdog/index.ts'
import { welcome } from '../welcome.ts'
import { type ChildLife, createChildLife, FIRST_SOCKET } from './child.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = { api: 5_000, worker: 10_000, edges: 5_000, retention: 2_000, certificates: 2_000, leadership: 3_000 }

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

/** Of a database that is reached by the network. */
const server = ({ databaseUrl }: Config, log: Log) => ({
  databaseUrl,
  onAway: (error: Error) => log.error({ err: error }, 'the connection to the database is lost'),
  onBack: () => log.info('the database answers again'),
})

async function start({ config, begin, started, mayWork, onDeath }: Parts): Promise<Started> {
  const files = filesIn(config.dataDir)
  const log = createLog(config.logLevel, config.logFormat)

  // The database.
  const database = await openDatabase(config.dataDir, { ...server(config, log), onDeath, isShared: begin.isReload })
  started.defer(() => database.sql.close())
  const { sql, clock } = database
  if (!config.databaseUrl) started.defer(await watchPlace(files.database, clock, onDeath))
  const leadership = createLeadership({ clock, log, election: await database.openElection() })
  const vault = await openVault(sql, { file: files.masterKey, given: config.masterKey?.reveal() })
  const records = createRecords({ config, database, vault })

  // The edges, which have been answering visitors all the time.
  const traffic = await openTraffic({ config, log, database })
  // Stops after the edges, which send their last counts when they stop.
  started.defer(() => traffic.stop())
  const stores = await openStores({ config, files, database, keyId: vault.keyId })
  started.defer(async () => stores.images?.close())
  const requestLog = await openRequestLog({ config, log, database, logs: stores.logs })
  started.defer(async () => requestLog?.stop())
  const clusterPort = await listenToCluster({ config, log, vault })
  const edges = await openEdges({ config, files, log, database, clusterPort })
  started.defer(() => edges.close(GRACE_MS.edges))
  edges.onTraffic(traffic.receive)
  const edgeTls = createEdgeTls({ clock, edges })
  traffic.start()
  if (requestLog) edges.onRequests(requestLog.receive)
  requestLog?.start()

  // The agent, and what apps run on.
  const visits = recordVisits({ clock, log, wantedInstances: records.wantedInstances })
  started.defer(() => visits.stop())
  const agent = createAgentClient({ clock, log, version, path: files.agentSocket, onVisited: visits.add })
  started.defer(() => agent.stop())
  const machine = await openMachine(config, files.toolchain, { agent, log })
  started.defer(() => machine.close())
  const hosting = await openHosting({
    config,
    log,
    database,
    machine,
    agent,
    edges,
    records,
    stores,
    // No app runs before `retention` is made below, so none asks for space earlier.
    admitKvGrowth: (environmentId, growth) => retention.kvQuota.take(environmentId, growth),
  })
  started.defer(() => hosting.inApp.close())
  const parts = { config, log, database, machine, records, stores, hosting }
  const retention = assembleRetention({
    ...parts,
    // Its rounds begin after `live` is made below.
    tendEarlierFiles: (environmentId) => live.earlierFiles.tend(environmentId),
  })
  const { appVariables, reopenService } = await listenToApps({
    database,
    machine,
    records,
    hosting,
    fds: Array.from({ length: begin.inAppCount }, (_, at) => SOCKETS.inApp + at),
  })

  // The agent is told what is live. Apps that were awake and do not run are started again.
  const live = createLive({ ...parts, edges, edgePort: begin.edge.port, appVariables })
  const { routing } = live
  const restoring = createRestoring({ log, database, hosting, live, reopenService })
  started.defer(() => restoring.stop())
  // Files that only the registry has are got before their apps are started.
  await live.imageSteps.restoreLive()
  await restoring.restore()
  agent.onRestart(restoring.restoreAgain)
  await routing.start()
  started.defer(() => routing.stop())
  // In a reload, the edges follow the old control process until it is gone.
  if (!begin.isReload && config.roles.includes('edge')) await edges.untilRouted(config.edges)

  // Operations are worked on from here on.
  const deploying = createDeploying({ ...parts, appVariables, live, retention })
  const worker = startOperations({ config, log, database, deploying, mayWork })
  started.defer(() => worker.stop(GRACE_MS.worker))
  retention.start(leadership.known)
  started.defer(() => retention.stop(GRACE_MS.retention))
  leadership.lead(retention.lead)
  const metrics = assembleMetrics({ database, edges, worker, retention, leadership })
  const onStall = createOnStall({ config, log, metrics })
  edges.onStall(onStall('edge'))
  started.defer(watchStalls(onStall('control')))
  const admission = createAdmission({ config, database, machine, retention })
  leadership.lead(createRetrying({ config, log, database, machine, records, deploying, admission }))

  // Certificates are got from here on.
  const certificateParts = { config, log, database, vault, records, edges, edgeTls }
  const { certificates, ...certificateWork } = assembleCertificates(certificateParts)
  started.defer(() => certificateWork.stop(GRACE_MS.certificates))
  leadership.lead(certificateWork.worker.lead)
  mayWork.then(() => certificateWork.worker.start())

  // What one of several control processes does alone. In a reload, the old one goes on with it until it is gone.
  started.defer(() => leadership.stop(GRACE_MS.leadership))
  mayWork.then(() => leadership.start())

  // Users and webhooks are answered from here on.
  const requests = assembleRequests({ config, database, records, hosting, live, deploying, admission })
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
    metrics,
    admission,
    requests,
    certificates,
    portal,
  })
  started.defer(() => api.stop(GRACE_MS.api))
  const apiUrl = await api.listen(SOCKETS.api)
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

/** The service: what it is made of, in the order in which it starts. It stops in the reverse order. */
import { createLog } from './base/index.ts'
import { filesIn, openDatabase } from './data-folder.ts'
import { watchIdle } from './deployments/index.ts'
import { endOrphans } from './engines/index.ts'
import { openMachine } from './machine.ts'
import { openPortal } from './portal/index.ts'
import {
  assembleApi,
  assembleMetrics,
  assembleRequests,
  assembleRetention,
  createAdmission,
  createDeploying,
  createHosting,
  createLive,
  createOnStall,
  createRecords,
  listenToApps,
  openStores,
  openTraffic,
  startEdgeProcess,
  startOperations,
  startRetries,
} from './service/index.ts'
import { type Config, formatListen } from './settings.ts'
import { openVault, watchPlace } from './storage/index.ts'
import { watchStalls } from './watchdog/index.ts'
import { welcome } from './welcome.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = { api: 5_000, worker: 10_000, apps: 5_000, edge: 5_000, retention: 2_000 }

export type Service = { api: string; edge: string; stop(): Promise<void> }

export async function serve(config: Config, onDeath: (error: Error) => void): Promise<Service> {
  const files = filesIn(config.dataDir)
  const log = createLog(config.logLevel, config.logFormat)
  const started = new AsyncDisposableStack()
  try {
    // The database, and the machine that runs other people's programs.
    const database = await openDatabase(config.dataDir, onDeath)
    started.defer(() => database.sql.close())
    const { sql, clock } = database
    started.defer(await watchPlace(files.database, clock, onDeath))
    const vault = await openVault(sql, { file: files.masterKey, given: config.masterKey?.reveal() })
    if (process.platform === 'linux') endOrphans(config.dataDir)
    const machine = await openMachine(config, files.toolchain, log)
    started.defer(() => machine.close())

    // Visitors are answered from here on, by the route table of the last run.
    const traffic = await openTraffic({ config, log, database })
    // Stops after the edge, which sends its last counts when it stops.
    started.defer(() => traffic.stop())
    const edge = await startEdgeProcess({ config, files, log, database })
    started.defer(() => edge.stop(GRACE_MS.edge))
    edge.onTraffic(traffic.receive)
    traffic.start()

    // What is kept in the database and on the disk, and what apps run on.
    const records = createRecords({ config, database, vault })
    const hosting = createHosting({
      config,
      log,
      database,
      machine,
      edge,
      records,
      // No app runs before `retention` is made below, so none asks for space earlier.
      admitKvGrowth: (environmentId, growth) => retention.kvQuota.take(environmentId, growth),
    })
    const { supervisor } = hosting
    started.defer(() => hosting.inApp.close())
    const appVariables = await listenToApps({ database, machine, records, hosting })
    started.defer(() => supervisor.stop(GRACE_MS.apps))
    const stores = await openStores({ config, files, database })
    const retention = assembleRetention({ config, log, database, machine, records, stores, hosting })

    // The apps that were live are started again.
    const live = createLive({ config, log, database, machine, edge, records, stores, hosting, appVariables })
    const { routing } = live
    await live.launcher.restore()
    await routing.start()
    started.defer(() => routing.stop())

    // Operations are worked on from here on.
    const deploying = createDeploying({
      config,
      log,
      database,
      machine,
      edge,
      records,
      stores,
      hosting,
      appVariables,
      live,
      retention,
    })
    const worker = startOperations({ config, log, database, deploying })
    started.defer(() => worker.stop(GRACE_MS.worker))
    const idle = watchIdle({ clock, log, edge, supervisor, routing, idleMs: config.idleTimeout * 1000 })
    started.defer(() => idle.stop())
    retention.rounds.start()
    started.defer(() => retention.rounds.stop(GRACE_MS.retention))
    const metrics = assembleMetrics({ database, edge, worker, retention })
    const onStall = createOnStall({ config, log, metrics })
    edge.onStall(onStall('edge'))
    started.defer(watchStalls(onStall('control')))
    const admission = createAdmission({ config, database, machine, retention })
    const retrying = startRetries({ config, log, database, machine, records, deploying, admission })
    started.defer(() => retrying.stop())

    // Users and webhooks are answered from here on.
    const requests = assembleRequests({ config, database, records, hosting, live, deploying, admission })
    const portal = openPortal({ log })
    started.defer(() => portal.stop())
    const api = assembleApi({
      config,
      log,
      database,
      machine,
      edge,
      traffic,
      records,
      stores,
      hosting,
      retention,
      live,
      deploying,
      metrics,
      admission,
      requests,
      portal,
    })
    started.defer(() => api.stop(GRACE_MS.api))
    const apiUrl = await api.listen()

    await welcome(database, api.publicUrl(), config.domain, live.siteUrl)
    return {
      api: apiUrl,
      edge: `http://${formatListen(edge.address)}`,
      async stop() {
        log.info('stopping')
        await started.disposeAsync()
        log.info('stopped')
      },
    }
  } catch (error) {
    await started.disposeAsync()
    throw error
  }
}

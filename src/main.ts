/**
 * Builds every part bottom up, starts them in order, stops them in reverse. The only file that knows which adapter stands
 * behind an interface.
 */
import { mkdir, open } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  type Account,
  createAccounts,
  createCredentials,
  createInvitations,
  createMembers,
  createSessions,
  createUsers,
} from './accounts/index.ts'
import { cannotListen, ownHosts, siteUrls, tlsPortOf, urlOn } from './addresses.ts'
import {
  createApps,
  createCmsInstalls,
  createDomains,
  createEnvironments,
  createTokens,
  createVariables,
} from './apps/index.ts'
import { type ArchiveLimits, createArchives, DEFAULT_ARCHIVE_LIMITS } from './archives/index.ts'
import { createChanges, createIds, createLog, type Log, systemClock } from './base/index.ts'
import {
  createBuildRetention,
  createBuilds,
  createOutputs,
  createPackageStore,
  createSources,
  DEFAULT_OUTPUT_LIMITS,
} from './builds/index.ts'
import { type Config, formatListen } from './config.ts'
import { type Ceilings, Problem } from './contract/index.ts'
import {
  createAppVariables,
  createBlame,
  createBuildRequests,
  createClearCache,
  createDeploy,
  createDeployments,
  createFolders,
  createInspect,
  createLauncher,
  createLookAhead,
  createMake,
  createPins,
  createProvision,
  createPurges,
  createRedeploy,
  createReplaceDomains,
  createRequests,
  createRetries,
  createRetry,
  createRevalidations,
  createRouting,
  createSuccession,
  createSwitch,
  createTrace,
  watchIdle,
} from './deployments/index.ts'
import { LATENCY_BOUNDS_MS, startEdge } from './edge/index.ts'
import { endOrphans } from './engines/index.ts'
import { createKv } from './kv/index.ts'
import { openMachine } from './machine.ts'
import { createOperations, startWorker } from './operations/index.ts'
import { openPortal } from './portal/index.ts'
import { createDomainChecks, createLookup } from './reach/index.ts'
import { createCounts, createRetention } from './retention/index.ts'
import { createSupervisor } from './runtime/index.ts'
import { openDiskBlobs } from './storage/blobs/blobs-disk.ts'
import {
  createBallast,
  createLineLogs,
  MIGRATIONS,
  migrate,
  newestId,
  openVault,
  refuseRestoring,
  refuseTriggers,
  statement,
  watchPlace,
} from './storage/index.ts'
import { openSqlite, openSqliteApart } from './storage/sql/sqlite.ts'
import { createTraffic, createTrafficPaths, forgetTrafficPaths } from './traffic/index.ts'
import { createLedger } from './triggers/index.ts'
import { version } from './version.ts'
import { type Stall, watchStalls } from './watchdog/index.ts'
import { createWebhookRates, createWebhookSets, createWebhooks } from './webhooks/index.ts'
import { welcome } from './welcome.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = { api: 5_000, worker: 10_000, apps: 5_000, edge: 5_000, retention: 2_000 }

const QUICK_CONCURRENCY = 8
/** Builds that run no program of an app, beside those that do. */
const LIGHT_CONCURRENCY = 2

/** How often to look for rebuilds that are to be tried again. */
const RETRY_LOOK_MS = 5000

export type Service = { api: string; edge: string; stop(): Promise<void> }

export async function serve(config: Config, onDeath: (error: Error) => void): Promise<Service> {
  // Loaded here, as operators' commands do without it.
  const { createApiServer, createAuth, createBrowserSession, createInAppServer, createMetrics, createRoutes } =
    await import('./api/index.ts')
  const files = filesIn(config.dataDir)
  const log = createLog(config.logLevel, config.logFormat)
  const parts = new AsyncDisposableStack()
  const stopping = new AbortController()
  try {
    const ground = await openGround(config.dataDir, onDeath)
    parts.defer(() => ground.sql.close())
    const { sql, clock, newId } = ground
    parts.defer(await watchPlace(files.database, clock, onDeath))
    const { trustedProxies } = config
    const ceilings = ceilingsOf(config)
    const vault = await openVault(sql, { file: files.masterKey, given: config.masterKey?.reveal() })
    if (process.platform === 'linux') endOrphans(config.dataDir)
    const machine = await openMachine(config, files.toolchain, log)
    const { engine, networks, toolchains } = machine
    parts.defer(() => machine.close())
    const cache = { memoryBytes: config.cacheMemory, folder: files.cache, diskBytes: config.cacheDisk }
    const tableFile = files.routeTable
    const { countPaths: countsPaths } = config
    if (!countsPaths) await forgetTrafficPaths(sql)
    const paths = countsPaths ? createTrafficPaths({ sql, clock }) : undefined
    const traffic = createTraffic({ sql, clock, log, boundsMs: LATENCY_BOUNDS_MS, paths })
    // After the edge, which tells its last counts when it stops.
    parts.defer(() => traffic.stop())
    const edge = await startEdge({
      clock,
      log,
      ...config.edgeListen,
      tableFile,
      cache,
      trustedProxies,
      countsPaths,
    }).catch(cannotListen('edgeListen', config.edgeListen))
    parts.defer(() => edge.stop(GRACE_MS.edge))
    edge.onTraffic(traffic.hear)
    traffic.start()
    log.info({ edgePid: edge.pid(), port: edge.address.port }, 'the edge listens')
    const folders = createFolders(config.dataDir, machine)
    const tokens = createTokens({ vault })
    const ledger = createLedger({ sql, newId })
    const startDeadlineMs = config.startTimeout * 1000
    const awakeLimits = { apps: ceilings.AWAKE_APPS, memoryBytes: ceilings.APP_MEMORY }
    const supervisor = createSupervisor({ engine, networks, clock, log, startDeadlineMs, awakeLimits })
    const revalidations = createRevalidations({ sql, clock })
    const purges = createPurges({ sql, clock, ledger, edge, revalidations, supervisor })
    // No app runs before everything below is made, so none asks for room before there is upkeep.
    const values = createKv({
      clock,
      folderOf: folders.values,
      admitGrowth: (environmentId, growth) => retention.kvQuota.take(environmentId, growth),
    })
    const inApp = createInAppServer({ ...ground, log, tokens, purges, values })
    parts.defer(() => inApp.close())
    const listening = await inApp.listen(networks?.gateway ?? '127.0.0.1')
    await networks?.openService(listening.port)
    parts.defer(() => supervisor.stop(GRACE_MS.apps))

    const variables = createVariables({ vault })
    const modules = {
      ...ground,
      log,
      variables,
      engine,
      toolchains,
      edge,
      supervisor,
      domain: config.domain,
      domains: createDomains({ sql, clock, domain: config.domain, ownHosts: ownHosts(config) }),
      archives: createArchives({ blobs: await openDiskBlobs(files.blobs), limits: archiveLimits(config) }),
      logs: createLineLogs(files.logs),
      builds: createBuilds({ sql, clock, newId, requestersOf: ground.operations.requestersOf }),
      buildRetention: createBuildRetention({
        sql,
        environmentIdsOf: async (accountId) => (await ground.environments.all(accountId)).map(({ id }) => id),
      }),
      sources: createSources({ sql, clock }),
      outputs: createOutputs({
        folder: files.outputs,
        limits: { ...DEFAULT_OUTPUT_LIMITS, files: config.outputFiles },
      }),
      packages: createPackageStore({ sql, clock, newId, folder: files.packages }),
      deployments: createDeployments({ sql, clock, newId }),
      retries: createRetries({ sql, clock, intervalMs: config.retryInterval * 1000 }),
      folders,
      ledger,
      purges,
      revalidations,
      appLimits: machine.limits.app,
      appVariables: createAppVariables({ ...ground, variables, tokens, inApp: listening.urls }),
      siteUrl: siteUrls(config, edge.address.port),
    }
    await modules.outputs.sweep()
    const retention = createRetention({ ...modules, ...config, ballast: createBallast(files.ballast) })
    const { usage, diskSpace, rounds } = retention

    const routing = createRouting(modules)
    const launcher = createLauncher(modules)
    await launcher.restore()
    await routing.start()
    parts.defer(() => routing.stop())

    const buildRequests = createBuildRequests(modules)
    const requests = createRequests({ ...modules, buildRequests, routing, maxEnvironments: ceilings.ENVIRONMENTS })
    const pins = createPins(modules)
    const switching = createSwitch({ ...modules, routing, pins, onSwitched: rounds.switched })
    const provision = createProvision({ ...modules, routing, switching })
    const live = { ...modules, launcher, switching, finishWithEnvironment: provision.finishWithEnvironment }
    const deadlines = { installMs: config.installTimeout * 1000, buildMs: config.buildTimeout * 1000 }
    const make = createMake({
      ...modules,
      diskSpace,
      run: { ...modules, networks, deadlines, limits: machine.limits.build },
    })
    const succession = createSuccession(modules)
    const deploy = succession(
      createDeploy({
        ...live,
        make,
        buildRequests,
        needsPrograms: createLookAhead(modules),
        inspect: createInspect(modules),
        blame: createBlame(modules),
      }),
    )
    const redeploy = createRedeploy(live)
    const worker = startWorker({
      ...modules,
      handlers: {
        CREATE: provision.create,
        UPDATE: succession(redeploy.update),
        DELETE: provision.remove,
        UPLOAD: deploy,
        REBUILD: deploy,
        CLEAN_REBUILD: deploy,
        ACTIVATE: succession(redeploy.activate),
      },
      concurrency: { quick: QUICK_CONCURRENCY, light: LIGHT_CONCURRENCY, build: config.concurrency },
      ...(ceilings.RUNNING_BUILDS > 0 ? { perAccount: { build: ceilings.RUNNING_BUILDS } } : {}),
    })
    parts.defer(() => worker.stop(GRACE_MS.worker))
    const idle = watchIdle({ ...modules, routing, idleMs: config.idleTimeout * 1000 })
    parts.defer(() => idle.stop())
    rounds.start()
    parts.defer(() => rounds.stop(GRACE_MS.retention))

    let apiUrl = ''
    const browserSession = createBrowserSession(config)
    const auth = createAuth({ ...modules, browserSession })
    const metrics = createMetrics({
      version,
      operationsUnfinished: async () => (await modules.operations.count()).unfinished,
      operationsRunning: () => worker.runningCount(),
      edgeServing: () => edge.isServing(),
      diskUsage: usage.total,
      diskFree: retention.freeBytes,
    })
    const onStall = (where: 'control' | 'edge') => (stall: Stall) => {
      metrics.observeStall(where, stall.ms)
      if (stall.ms >= config.stallWarning) log.warn({ process: where, ...stall }, 'the event loop stood still')
    }
    edge.onStall(onStall('edge'))
    parts.defer(watchStalls(onStall('control')))
    async function checkIsolation() {
      const { weaknesses } = machine.isolation
      if (weaknesses.length === 0 || config.weakIsolation || (await modules.accounts.list()).length < 2) return
      throw new Problem('ISOLATION_MISSING', `This machine cannot keep accounts apart: ${weaknesses.join('; ')}.`)
    }
    async function admitBuild(account: Account, environmentId: string) {
      await checkIsolation()
      await diskSpace.forRebuild(account, environmentId)
    }
    const retrying = createRetry({
      ...modules,
      buildRequests,
      admitBuild,
      answers: networks?.answers,
      lookMs: Math.min(RETRY_LOOK_MS, config.retryInterval * 1000),
    }).start()
    parts.defer(() => retrying.stop())
    const clearCache = createClearCache({ ...modules, finishWithEnvironment: provision.finishWithEnvironment })
    const webhookSets = createWebhookSets(ground)
    const rates = createWebhookRates(clock, {
      callsPerMinute: config.webhookCalls,
      guessesPerMinute: config.webhookGuesses,
    })
    const webhooks = createWebhooks({ ...modules, sets: webhookSets, rates, buildRequests, clearCache, admitBuild })
    const routes = createRoutes({
      ...modules,
      usage,
      counts: createCounts({ ...modules, ceilings, concurrency: config.concurrency }),
      ceilings,
      traffic,
      diskSpace,
      requests,
      pins,
      replaceDomains: createReplaceDomains({ ...modules, routing, maxDomains: ceilings.DOMAINS }),
      domainChecks: createDomainChecks({
        clock,
        lookUp: createLookup({ servers: config.dnsServers }),
        publicAddresses: config.publicAddresses,
        tlsPort: tlsPortOf(config),
      }),
      trace: createTrace(modules),
      clearCache,
      webhookSets,
      webhooks,
      admitBuild,
      auth,
      metrics,
      isolation: machine.isolation,
      checkIsolation,
      ready: {
        database: () =>
          sql.query(statement`SELECT 1 AS one`).then(
            () => undefined,
            (error: Error) => error.message,
          ),
        edge: async () => (edge.isServing() ? undefined : 'the edge process is being started'),
      },
      browserSession,
      publicUrl: () => config.publicUrl ?? apiUrl,
      stopping: stopping.signal,
    })
    const portal = openPortal({ log })
    parts.defer(() => portal.stop())
    const api = createApiServer({
      routes,
      auth,
      log,
      newId,
      metrics,
      trustedProxies,
      portal,
      stopping: stopping.signal,
    })
    parts.defer(async () => {
      stopping.abort()
      const patience = new AbortController()
      await Promise.race([api.close().finally(() => patience.abort()), clock.sleep(GRACE_MS.api, patience.signal)])
      api.server.closeAllConnections()
    })
    const listenTextResolver = (address: string) => `API and portal listen at ${address}`
    await api.listen({ ...config.listen, listenTextResolver }).catch(cannotListen('listen', config.listen))
    apiUrl = urlOn(api.server.address() as AddressInfo)

    await welcome(ground, config.publicUrl ?? apiUrl, config.domain, siteUrls(config, edge.address.port))
    return {
      api: apiUrl,
      edge: `http://${formatListen(edge.address)}`,
      stop: () => stopAll(parts, log),
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

const archiveLimits = ({ archiveBytes, archiveEntries, unpackedBytes, uploadStall }: Config): ArchiveLimits => ({
  ...DEFAULT_ARCHIVE_LIMITS,
  archiveBytes,
  entries: archiveEntries,
  // Who lets in more entries lets in their names.
  namesBytes: DEFAULT_ARCHIVE_LIMITS.namesBytes * Math.max(1, archiveEntries / DEFAULT_ARCHIVE_LIMITS.entries),
  unpackedBytes,
  stallMs: uploadStall * 1000,
})

/** How many of each an account may have. */
const ceilingsOf = (config: Config): Ceilings => ({
  APPS: config.accountApps,
  ENVIRONMENTS: config.accountEnvironments,
  DOMAINS: config.accountDomains,
  CREDENTIALS: config.accountCredentials,
  AWAKE_APPS: config.accountAwakeApps,
  APP_MEMORY: config.accountAppMemory,
  RUNNING_BUILDS: config.accountBuilds,
})

export const filesIn = (dataDir: string) => ({
  database: join(dataDir, 'headland.db'),
  masterKey: join(dataDir, 'master.key'),
  routeTable: join(dataDir, 'routes.json'),
  blobs: join(dataDir, 'blobs'),
  outputs: join(dataDir, 'outputs'),
  packages: join(dataDir, 'packages'),
  logs: join(dataDir, 'logs'),
  toolchain: join(dataDir, 'toolchain'),
  ballast: join(dataDir, 'ballast'),
  cache: join(dataDir, 'cache'),
})

/** What operators' commands need of a data folder that they do not open, or that is not there yet. */
export const dataFolder = ({ dataDir, masterKey }: Config) => ({
  dataDir,
  database: filesIn(dataDir).database,
  masterKey: { file: filesIn(dataDir).masterKey, given: masterKey?.reveal() },
  openSql: openSqlite,
  openForeignSql: openSqliteApart,
  version,
})

/** The lower floors on a data folder: what the service stands on, and all that operators' commands need. */
export async function openGround(dataDir: string, onDeath?: (error: Error) => void) {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await refuseRestoring(dataDir)
  const clock = systemClock
  const { database, ballast } = filesIn(dataDir)
  // For the service alone; SQLite gives the files beside it the same mode.
  await (await open(database, 'a', 0o600)).close()
  const changes = createChanges()
  const onFull = () => createBallast(ballast).throwOut()
  const sql = await openSqlite(database, { onDeath, onFull, onChange: changes.notify })
  await refuseTriggers(sql)
  await migrate(sql, MIGRATIONS, clock.now())
  const parts = { sql, clock, newId: createIds(clock, await newestId(sql)) }
  const accounts = createAccounts(parts)
  return {
    ...parts,
    changes,
    accounts,
    users: createUsers({ ...parts, accounts }),
    members: createMembers(parts),
    invitations: createInvitations(parts),
    credentials: createCredentials(parts),
    sessions: createSessions(parts),
    apps: createApps(parts),
    environments: createEnvironments(parts),
    cmsInstalls: createCmsInstalls(parts),
    operations: createOperations(parts),
  }
}

export type Ground = Awaited<ReturnType<typeof openGround>>

async function stopAll(parts: AsyncDisposableStack, log: Log) {
  log.info('stopping')
  await parts.disposeAsync()
  log.info('stopped')
}

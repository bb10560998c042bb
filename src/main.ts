/**
 * Builds every part bottom up, starts them in order, stops them in reverse. The only file that knows which adapter stands
 * behind an interface.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createAccounts, createCredentials, createSessions, createUsers } from './accounts/index.ts'
import { createApps, createCmsInstalls, createEnvironments, createVariables } from './apps/index.ts'
import { type ArchiveLimits, createArchives, DEFAULT_ARCHIVE_LIMITS } from './archives/index.ts'
import { createIds, createLog, type Log, systemClock } from './base/index.ts'
import { createBuilds, createOutputs, DEFAULT_OUTPUT_LIMITS, openToolchain } from './builds/index.ts'
import { type Config, formatListen, searchPath } from './config.ts'
import { Problem } from './contract/index.ts'
import {
  createAppVariables,
  createDeploy,
  createDeployments,
  createFolders,
  createLauncher,
  createProvision,
  createRedeploy,
  createRequests,
  createRouting,
  createSwitch,
  watchIdle,
} from './deployments/index.ts'
import { startEdge } from './edge/index.ts'
import type { Engine } from './engines/index.ts'
import { openPlain } from './engines/plain.ts'
import { openSandbox } from './engines/sandbox.ts'
import { createOperations, startWorker } from './operations/index.ts'
import { createSupervisor } from './runtime/index.ts'
import { openDiskBlobs } from './storage/blobs-disk.ts'
import { createLineLogs, MIGRATIONS, migrate, openVault, statement } from './storage/index.ts'
import { openSqlite } from './storage/sqlite.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = { api: 5_000, worker: 10_000, apps: 5_000, edge: 5_000 }

const QUICK_CONCURRENCY = 8

export type Service = { api: string; edge: string; stop(): Promise<void> }

export async function serve(config: Config, onDeath: (error: Error) => void): Promise<Service> {
  // Loaded here, as operators' commands do without it.
  const { createApiServer, createAuth, createMetrics, createRoutes } = await import('./api/index.ts')
  const files = filesIn(config.dataDir)
  const log = createLog(config.logLevel)
  const parts = new AsyncDisposableStack()
  const stopping = new AbortController()
  try {
    const ground = await openGround(config.dataDir, onDeath)
    parts.defer(() => ground.sql.close())
    const { sql, clock, newId, accounts, users, credentials, sessions, apps, environments, operations } = ground
    const vault = await openVault(sql, { file: files.masterKey, given: config.masterKey?.reveal() })
    const variables = createVariables({ vault })
    const blobs = await openDiskBlobs(files.blobs)
    const archives = createArchives({ blobs, limits: archiveLimits(config) })
    const logs = createLineLogs(files.logs)

    const engine = await openEngine(config, log)
    const toolchain = await openToolchain({
      folder: files.toolchain,
      searchPath: searchPath(),
      isIsolating: engine.isIsolating,
    })
    const builds = createBuilds({ sql, clock, newId })
    const outputs = createOutputs({ folder: files.outputs, limits: DEFAULT_OUTPUT_LIMITS })

    const edge = await startEdge({ clock, log, ...config.edgeListen, tableFile: files.routeTable })
    parts.defer(() => edge.stop(GRACE_MS.edge))
    log.info({ edgePid: edge.pid(), port: edge.address.port }, 'the edge listens')
    const siteUrl = siteUrls(config, edge.address.port)

    const supervisor = createSupervisor({ engine, clock, log, startDeadlineMs: config.startTimeout * 1000 })
    parts.defer(() => supervisor.stop(GRACE_MS.apps))

    const { domain } = config
    const folders = createFolders(config.dataDir, { canChooseUsers: process.getuid?.() === 0 })
    const appVariables = createAppVariables({ variables, cmsInstalls: ground.cmsInstalls })
    const deployments = createDeployments({ sql, clock, newId })
    const routing = createRouting({ sql, clock, log, environments, outputs, supervisor, edge, domain })
    const launcher = createLauncher({
      ...{
        sql,
        builds,
        environments,
        deployments,
        outputs,
        supervisor,
        toolchain,
        folders,
        logs,
        appVariables,
        domain,
      },
    })
    await outputs.sweep()
    await folders.sweepWork(builds.isOver)
    await launcher.restore()
    await routing.start()
    parts.defer(() => routing.stop())

    const switching = createSwitch({
      sql,
      log,
      environments,
      deployments,
      operations,
      supervisor,
      edge,
      folders,
      routing,
    })
    const requests = createRequests({
      ...{ sql, apps, environments, variables, operations, builds, deployments, routing },
    })
    const provision = createProvision({
      ...{ sql, accounts, apps, environments, operations, routing, builds, outputs, deployments, switching },
      ...{ folders, logs, siteUrl },
    })
    const { finishWithEnvironment } = provision
    const deadlines = { installMs: config.installTimeout * 1000, buildMs: config.buildTimeout * 1000 }
    const deploy = createDeploy({
      ...{ sql, clock, log, archives, builds, outputs, environments, deployments, launcher, switching, folders, logs },
      ...{ appVariables, finishWithEnvironment, run: { engine, toolchain, deadlines } },
    })
    const redeploy = createRedeploy({
      ...{ sql, builds, environments, deployments, launcher, switching, finishWithEnvironment },
    })
    const worker = startWorker({
      ...{ sql, clock, log, operations },
      handlers: {
        CREATE: provision.create,
        UPDATE: redeploy.update,
        DELETE: provision.remove,
        UPLOAD: deploy,
        REBUILD: deploy,
        CLEAN_REBUILD: deploy,
        ACTIVATE: redeploy.activate,
      },
      concurrency: { quick: QUICK_CONCURRENCY, build: config.concurrency },
    })
    parts.defer(() => worker.stop(GRACE_MS.worker))
    const idle = watchIdle({ clock, log, edge, supervisor, idleMs: config.idleTimeout * 1000 })
    parts.defer(() => idle.stop())

    let apiUrl = ''
    const auth = createAuth({ credentials, sessions, users })
    const metrics = createMetrics({
      operationsUnfinished: async () => (await operations.count()).unfinished,
      operationsRunning: () => worker.runningCount(),
      edgeServing: () => edge.isServing(),
    })
    const routes = createRoutes({
      ...{ apps, environments, variables, operations, requests, credentials, sessions, users, auth, metrics, siteUrl },
      ...{ archives, builds, deployments, supervisor, logs },
      async checkIsolation() {
        if (!engine.isIsolating && (await accounts.list()).length > 1) throw new Problem('ISOLATION_MISSING')
      },
      ready: {
        database: () =>
          sql.query(statement`SELECT 1 AS one`).then(
            () => undefined,
            (error: Error) => error.message,
          ),
        edge: async () => (edge.isServing() ? undefined : 'the edge process is being started'),
      },
      isHttps: config.publicUrl?.startsWith('https:') ?? false,
      publicUrl: () => config.publicUrl ?? apiUrl,
      stopping: stopping.signal,
    })
    const { trustedProxies } = config
    const api = createApiServer({ routes, auth, log, newId, metrics, trustedProxies, stopping: stopping.signal })
    parts.defer(async () => {
      stopping.abort()
      const patience = new AbortController()
      await Promise.race([api.close().finally(() => patience.abort()), clock.sleep(GRACE_MS.api, patience.signal)])
      api.server.closeAllConnections()
    })
    apiUrl = await api.listen(config.listen)

    await welcome(ground, config.publicUrl ?? apiUrl, config.domain)
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

/** Bubblewrap, or a clear word about what is missing without it. */
async function openEngine({ bubblewrap }: Config, log: Log): Promise<Engine> {
  const sandbox = await openSandbox(bubblewrap)
  if ('start' in sandbox) return sandbox
  log.warn(
    `${sandbox.missing}: builds and apps are not isolated, so the service builds for a single account only. Install it: apt-get install bubblewrap`,
  )
  return openPlain()
}

const archiveLimits = ({ archiveBytes, archiveEntries, unpackedBytes, uploadStall }: Config): ArchiveLimits => ({
  ...DEFAULT_ARCHIVE_LIMITS,
  archiveBytes,
  entries: archiveEntries,
  unpackedBytes,
  stallMs: uploadStall * 1000,
})

export const filesIn = (dataDir: string) => ({
  database: join(dataDir, 'headland.db'),
  masterKey: join(dataDir, 'master.key'),
  routeTable: join(dataDir, 'routes.json'),
  blobs: join(dataDir, 'blobs'),
  outputs: join(dataDir, 'outputs'),
  logs: join(dataDir, 'logs'),
  toolchain: join(dataDir, 'toolchain'),
})

/** The lower floors on a data folder: what the service stands on, and all that operators' commands need. */
export async function openGround(dataDir: string, onDeath?: (error: Error) => void) {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const clock = systemClock
  const newId = createIds(clock)
  const sql = await openSqlite(filesIn(dataDir).database, onDeath)
  await migrate(sql, MIGRATIONS, clock.now())
  const parts = { sql, clock, newId }
  const accounts = createAccounts(parts)
  return {
    ...parts,
    accounts,
    users: createUsers({ ...parts, accounts }),
    credentials: createCredentials(parts),
    sessions: createSessions(parts),
    apps: createApps(parts),
    environments: createEnvironments(parts),
    cmsInstalls: createCmsInstalls(parts),
    operations: createOperations(parts),
  }
}

/** An environment's host is its label under the domain; scheme and port are those that people use to reach the edge. */
function siteUrls({ domain, edgeUrl }: Config, boundPort: number): (hostLabel: string) => string {
  const front = new URL(edgeUrl ?? `http://${domain}:${boundPort}`)
  return (hostLabel) => `${front.protocol}//${hostLabel}.${domain}${front.port ? `:${front.port}` : ''}`
}

export type Ground = Awaited<ReturnType<typeof openGround>>

/** The very first start makes an account and its owner, and says so once. There is no default password. */
async function welcome({ accounts, users }: Ground, url: string, domain: string) {
  if ((await accounts.list()).length > 0) return
  const email = `owner@${domain}`
  const { password } = await users.create(email, 'default', 'owner', { makeAccount: true })
  process.stderr.write(`
  Welcome to Headland. This is shown once:

    Address    ${url}
    Account    default
    User       ${email}
    Password   ${password?.reveal()}

  API access: headland credentials create --account default --role owner
  Another password: headland users reset-password ${email}

`)
}

async function stopAll(parts: AsyncDisposableStack, log: Log) {
  log.info('stopping')
  await parts.disposeAsync()
  log.info('stopped')
}

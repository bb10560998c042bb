/**
 * Builds every part bottom up, starts them in order, stops them in reverse. The only file that knows which adapter stands
 * behind an interface.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createAccounts, createCredentials, createSessions, createUsers } from './accounts/index.ts'
import { createApps, createCmsInstalls, createEnvironments, createVariables } from './apps/index.ts'
import { createIds, createLog, type Log, systemClock } from './base/index.ts'
import { type Config, formatListen } from './config.ts'
import { createHandlers, createRequests, createRouting } from './deployments/index.ts'
import { startEdge } from './edge/index.ts'
import { createOperations, startWorker } from './operations/index.ts'
import { MIGRATIONS, migrate, openVault, statement } from './storage/index.ts'
import { openSqlite } from './storage/sqlite.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = { api: 5_000, worker: 15_000, edge: 5_000 }

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

    const edge = await startEdge({ clock, log, ...config.edgeListen, tableFile: files.routeTable })
    parts.defer(() => edge.stop(GRACE_MS.edge))
    log.info({ edgePid: edge.pid(), port: edge.address.port }, 'the edge listens')
    const siteUrl = siteUrls(config, edge.address.port)

    const routing = createRouting({ sql, clock, log, environments, edge, domain: config.domain })
    await routing.start()
    parts.defer(() => routing.stop())

    const requests = createRequests({ sql, apps, environments, variables, operations, routing })
    const handlers = createHandlers({ sql, accounts, apps, environments, operations, routing, siteUrl })
    const worker = startWorker({ sql, clock, log, operations, handlers, concurrency: config.concurrency })
    parts.defer(() => worker.stop(GRACE_MS.worker))

    let apiUrl = ''
    const auth = createAuth({ credentials, sessions, users })
    const metrics = createMetrics({
      operationsUnfinished: async () => (await operations.count()).unfinished,
      operationsRunning: () => worker.runningCount(),
      edgeServing: () => edge.isServing(),
    })
    const routes = createRoutes({
      ...{ apps, environments, variables, operations, requests, credentials, sessions, users, auth, metrics, siteUrl },
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

export const filesIn = (dataDir: string) => ({
  database: join(dataDir, 'headland.db'),
  masterKey: join(dataDir, 'master.key'),
  routeTable: join(dataDir, 'routes.json'),
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

/** The routes of the API, with everything that they reach. */
import { tlsPortOf } from '../addresses.ts'
import { createAuth, createBrowserSession, createRoutes } from '../api/index.ts'
import { createAuditLog } from '../audit/index.ts'
import { createBadges } from '../badges/index.ts'
import type { Certificates } from '../certificates/index.ts'
import type { Database } from '../data-folder.ts'
import { createTrace } from '../deployments/index.ts'
import type { Edges } from '../edge/index.ts'
import { createExamples } from '../examples/index.ts'
import type { Machine } from '../machine.ts'
import { createPublishes } from '../publishes/index.ts'
import { createDomainChecks, createLookup } from '../reach/index.ts'
import type { RequestLog } from '../request-log/index.ts'
import { createCounts } from '../retention/index.ts'
import type { Screenshots } from '../screenshots/index.ts'
import type { Config } from '../settings.ts'
import { statement } from '../storage/index.ts'
import type { Regions } from '../swarm/index.ts'
import type { Traffic } from '../traffic/index.ts'
import type { Admission } from './admission.ts'
import { labelOf } from './cluster.ts'
import { createReadCluster } from './cluster-status.ts'
import type { Deploying } from './deploying.ts'
import type { GitModules } from './git.ts'
import type { Hosting } from './hosting.ts'
import { ceilingsOf } from './limits.ts'
import type { Live } from './live.ts'
import type { Metrics } from './metrics.ts'
import type { Notifying } from './notices/notifying.ts'
import type { Records } from './records.ts'
import type { ConnectedParts } from './repositories.ts'
import type { Requests } from './requests.ts'
import type { Retention } from './retention.ts'
import type { Stores } from './stores.ts'

export type RouteSources = GitModules & {
  config: Config
  database: Database
  machine: Machine
  edges: Edges
  traffic: Traffic
  requestLog: RequestLog | undefined
  records: Records
  stores: Stores
  hosting: Hosting
  live: Live
  retention: Retention
  deploying: Deploying
  screenshots: Screenshots
  admission: Admission
  requests: Requests
  notifying: Notifying
  certificates: Certificates
  connectedRepositories: ConnectedParts['connectedRepositories']
  pushHooks: ConnectedParts['pushHooks']
  metrics: Metrics
  /** Undefined where every region is this machine. */
  regions: Regions | undefined
}

type ServerState = {
  /** Known once the API listens. */
  publicUrl(): string
  /** Aborted when the API begins to stop. */
  stopping: AbortSignal
}

export function assembleRoutes(parts: RouteSources, { publicUrl, stopping }: ServerState) {
  const { config, machine, edges, traffic, requestLog, metrics, regions } = parts
  const { sql, clock, changes, accounts, users, members, invitations, credentials, sessions } = parts.database
  const { apps, environments, operations } = parts.database
  const { variables, domains, builds, sources, deployments, retries, ledger, webhookSets } = parts.records
  const { archives, outputs, images, logs, snapshots } = parts.stores
  const { instances, purges } = parts.hosting
  const { siteUrl } = parts.live
  const { usage, diskSpace } = parts.retention
  const { pins } = parts.deploying
  const { checkIsolation, admitBuild } = parts.admission
  const { requests, promote, previews, replaceDomains, clearCache, webhooks, schedules } = parts.requests
  const { concurrency, dnsServers, publicAddresses } = config
  const ceilings = ceilingsOf(config)

  const browserSession = createBrowserSession({ publicUrl: config.publicUrl })
  const auth = createAuth({ credentials, sessions, users, browserSession, operatorAccounts: config.operatorAccounts })
  const domainChecks = createDomainChecks({
    clock,
    lookUp: createLookup({ servers: dnsServers }),
    publicAddresses,
    tlsPort: tlsPortOf(config),
  })
  const counts = createCounts({
    accounts,
    credentials,
    apps,
    environments,
    operations,
    domains,
    instances,
    ceilings,
    concurrency,
  })
  const badges = createBadges({ clock, accounts, environments, builds, deployments })
  const trace = createTrace({
    sql,
    clock,
    operations,
    domains,
    builds,
    deployments,
    outputs,
    instances,
    edges,
    purges,
    siteUrl,
  })
  const ready = {
    database: () =>
      sql.query(statement`SELECT 1 AS one`).then(
        () => undefined,
        (error: Error) => error.message,
      ),
    // With apps on a swarm, edges are on other machines, and may follow another control process.
    edge: async () =>
      edges.isServing() || config.engine === 'swarm' ? undefined : 'the edge process is being started',
  }
  const routes = createRoutes({
    clock,
    changes,
    users,
    members,
    invitations,
    credentials,
    sessions,
    apps,
    environments,
    operations,
    variables,
    domains,
    builds,
    snapshots,
    sources,
    deployments,
    retries,
    ledger,
    webhookSets,
    archives,
    images,
    logs,
    instances,
    siteUrl,
    traffic,
    requestLog,
    badges,
    examples: createExamples(),
    screenshots: parts.screenshots,
    usage,
    diskSpace,
    counts,
    ceilings,
    requests,
    promote,
    previews,
    pins,
    replaceDomains,
    domainChecks,
    certificates: parts.certificates,
    clearCache,
    webhooks,
    schedules,
    publishes: createPublishes({ clock, records: parts.records.publishRecords, originsOf: operations.originsOf }),
    auditLog: createAuditLog({ sql }),
    notificationTargets: parts.notifying.notificationTargets,
    connectedRepositories: parts.connectedRepositories,
    pushHooks: parts.pushHooks,
    trace,
    isolation: machine.isolation,
    readCluster: createReadCluster(parts),
    checkIsolation,
    admitBuild,
    admitRegion: async (region) => regions?.require(labelOf(region)),
    auth,
    browserSession,
    metrics,
    ready,
    publicUrl,
    stopping,
  })
  return { auth, routes }
}

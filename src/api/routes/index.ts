/** Every route of the API, in the order in which the documentation shows them. */

import type { Account, Credentials, Invitations, Members, Sessions, Users } from '../../accounts/index.ts'
import type { Apps, Domains, Environments, Variables } from '../../apps/index.ts'
import type { Archives } from '../../archives/index.ts'
import type { AuditLog } from '../../audit/index.ts'
import type { Badges } from '../../badges/index.ts'
import type { Changes, Clock } from '../../base/index.ts'
import type { Builds, Sources } from '../../builds/index.ts'
import type { Certificates } from '../../certificates/index.ts'
import type { Ceilings, resources } from '../../contract/index.ts'
import type {
  ClearCache,
  Deployments,
  Pins,
  Promote,
  ReplaceDomains,
  Requests,
  Retries,
  SiteUrl,
  Trace,
} from '../../deployments/index.ts'
import type { Examples } from '../../examples/index.ts'
import type { Images } from '../../images/index.ts'
import type { NotificationTargets } from '../../notifications/index.ts'
import type { Operations } from '../../operations/index.ts'
import type { Previews } from '../../previews/index.ts'
import type { Publishes } from '../../publishes/index.ts'
import type { DomainChecks } from '../../reach/index.ts'
import type { ConnectedRepositories, PushHooks } from '../../repositories/index.ts'
import type { RequestLog } from '../../request-log/index.ts'
import type { Counts, DiskSpace, Usage } from '../../retention/index.ts'
import type { Instances } from '../../runtime/index.ts'
import type { Schedules } from '../../schedules/index.ts'
import type { Screenshots } from '../../screenshots/index.ts'
import type { Snapshots } from '../../snapshots/index.ts'
import type { LineLogs } from '../../storage/index.ts'
import type { Traffic } from '../../traffic/index.ts'
import type { Ledger } from '../../triggers/index.ts'
import type { WebhookSets, Webhooks } from '../../webhooks/index.ts'
import type { Auth } from '../auth.ts'
import type { BrowserSession } from '../browser-session.ts'
import type { Metrics } from '../metrics.ts'
import type { Route } from '../route.ts'
import { createOpenStreams } from '../streams/open-streams.ts'
import { accountRoutes } from './accounts.ts'
import { appRoutes } from './apps.ts'
import { auditRoutes } from './audit/audit.ts'
import { buildRoutes } from './builds.ts'
import { cacheRoutes } from './cache.ts'
import { certificateRoutes } from './certificates.ts'
import { clusterRoutes } from './cluster.ts'
import { contentRoutes } from './content/content-diff.ts'
import { credentialRoutes } from './credentials.ts'
import { deploymentRoutes } from './deployments.ts'
import { documentationRoutes } from './documentation.ts'
import { domainRoutes } from './domains.ts'
import { environmentRoutes } from './environments.ts'
import { eventRoutes } from './events.ts'
import { exampleRoutes } from './examples/examples.ts'
import { repositoryRoutes } from './git/repositories.ts'
import { healthRoutes, type ReadyChecks } from './health.ts'
import { notificationRoutes } from './notifications/targets.ts'
import { operationRoutes } from './operations.ts'
import { previewRoutes } from './previews/previews.ts'
import { badgeRoutes } from './public/badge.ts'
import { publishRoutes } from './publishes/publishes.ts'
import { requestRoutes } from './requests.ts'
import { scheduleRoutes } from './schedules.ts'
import { screenshotRoutes } from './screenshots/screenshot.ts'
import { sessionRoutes } from './session.ts'
import { traceRoutes } from './trace.ts'
import { trafficRoutes } from './traffic.ts'
import { uploadRoutes } from './uploads.ts'
import { usageRoutes } from './usage.ts'
import { userRoutes } from './users.ts'
import { webhookRoutes } from './webhooks.ts'

export type RouteParts = {
  clock: Clock
  apps: Apps
  environments: Environments
  domains: Domains
  replaceDomains: ReplaceDomains
  domainChecks: DomainChecks
  certificates: Certificates
  clearCache: ClearCache
  trace: Trace
  variables: Variables
  operations: Operations
  requests: Requests
  credentials: Credentials
  sessions: Sessions
  users: Users
  members: Members
  invitations: Invitations
  auth: Auth
  metrics: Metrics
  archives: Archives
  builds: Builds
  snapshots: Snapshots
  sources: Sources
  pins: Pins
  deployments: Deployments
  retries: Retries
  instances: Pick<Instances, 'of' | 'awake'>
  /** Undefined where no registry is set. */
  images?: Pick<Images, 'referencesOf'> | undefined
  logs: LineLogs
  ledger: Ledger
  webhookSets: WebhookSets
  webhooks: Webhooks
  schedules: Schedules
  publishes: Publishes
  auditLog: AuditLog
  previews: Previews
  promote: Promote
  badges: Badges
  examples: Examples
  screenshots: Screenshots
  notificationTargets: NotificationTargets
  connectedRepositories: ConnectedRepositories
  pushHooks: PushHooks
  usage: Usage
  counts: Counts
  ceilings: Ceilings
  traffic: Traffic
  requestLog: RequestLog | undefined
  changes: Changes
  diskSpace: DiskSpace
  /** Throws when this machine cannot keep the builds of several accounts apart, and there are several. */
  isolation: resources.Isolation
  checkIsolation(): Promise<void>
  /** Throws if a build could not start anyway. */
  admitBuild(account: Account, environmentId: string): Promise<void>
  /** Throws if no app can run there. */
  admitRegion(region: resources.App['region']): Promise<void>
  /** What operators see. */
  readCluster(): Promise<resources.Cluster>
  ready: ReadyChecks
  siteUrl: SiteUrl
  browserSession: BrowserSession
  /** Known once the API listens. */
  publicUrl(): string
  stopping: AbortSignal
}

export function createRoutes(given: RouteParts): Route[] {
  const parts = { ...given, streams: createOpenStreams() }
  const routes: Route[] = [
    ...appRoutes(parts),
    ...environmentRoutes(parts),
    ...previewRoutes(parts),
    ...badgeRoutes(parts),
    ...screenshotRoutes(parts),
    ...uploadRoutes(parts),
    ...exampleRoutes(parts),
    ...buildRoutes(parts),
    ...contentRoutes(parts),
    ...deploymentRoutes(parts),
    ...cacheRoutes(parts),
    ...webhookRoutes(parts),
    ...scheduleRoutes(parts),
    ...publishRoutes(parts),
    ...repositoryRoutes(parts),
    ...traceRoutes(parts),
    ...domainRoutes(parts),
    ...certificateRoutes(parts),
    ...operationRoutes(parts),
    ...notificationRoutes(parts),
    ...credentialRoutes(parts),
    ...userRoutes(parts),
    ...accountRoutes(parts),
    ...usageRoutes(parts),
    ...auditRoutes(parts),
    ...trafficRoutes(parts),
    ...requestRoutes(parts),
    ...eventRoutes(parts),
    ...sessionRoutes(parts),
    ...clusterRoutes(parts),
    ...healthRoutes(parts),
    ...documentationRoutes({ all: () => routes, publicUrl: parts.publicUrl }),
  ]
  return routes
}

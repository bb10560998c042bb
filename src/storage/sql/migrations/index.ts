/** Every change of the database schema, in order. A released entry is never edited: add another. */
import type { Migration } from '../migrate.ts'
import { baseTables } from './0001-base-tables.ts'
import { builds } from './0002-builds.ts'
import { packages } from './0003-packages.ts'
import { disk } from './0004-disk.ts'
import { contacts } from './0005-contacts.ts'
import { domains } from './0006-domains.ts'
import { purges } from './0007-purges.ts'
import { unchanged } from './0008-unchanged.ts'
import { webhooks } from './0009-webhooks.ts'
import { portal } from './0010-portal.ts'
import { holds } from './0011-holds.ts'
import { consent } from './0012-consent.ts'
import { queue } from './0013-queue.ts'
import { files } from './0014-files.ts'
import { variableKinds } from './0015-variable-kinds.ts'
import { latest } from './0016-latest.ts'
import { people } from './0017-people.ts'
import { sources } from './0018-sources.ts'
import { heldBuilds } from './0019-held-builds.ts'
import { revalidations } from './0020-revalidations.ts'
import { firstFailure } from './0021-first-failure.ts'
import { redirects } from './0022-redirects.ts'
import { columnNames } from './0023-column-names.ts'
import { wantedInstances } from './0024-wanted-instances.ts'
import { routeChanges } from './0025-route-changes.ts'
import { purgeLog } from './0026-purge-log.ts'
import { scaling } from './0027-scaling.ts'
import { certificates } from './0028-certificates.ts'
import { earlierFiles } from './0029-earlier-files.ts'
import { protection } from './0030-protection.ts'
import { images } from './0031-images.ts'
import { objectStore } from './0032-object-store.ts'
import { values } from './0033-values.ts'
import { leadership } from './0034-leadership.ts'
import { controlProcesses } from './0035-control-processes.ts'
import { clusterApps } from './0036-cluster-apps.ts'
import { logChunks } from './0037-log-chunks.ts'
import { acmeChallenges } from './0038-acme-challenges.ts'
import { routed } from './0039-routed.ts'
import { clusterNodes } from './0040-cluster-nodes.ts'
import { clusterLoads } from './0041-cluster-loads.ts'
import { joinTokens } from './0042-join-tokens.ts'
import { clusterProcesses } from './0043-cluster-processes.ts'
import { schedules } from './0044-schedules.ts'
import { auditEvents } from './0045-audit-events.ts'
import { repositories } from './0046-repositories.ts'
import { connectedRepositories } from './0047-connected-repositories.ts'
import { previews } from './0048-previews.ts'
import { notices } from './0049-notices.ts'
import { badges } from './0050-badges.ts'
import { promotionChecks } from './0051-promotion-checks.ts'
import { learnedCaching } from './0052-learned-caching.ts'
import { publishes } from './0053-publishes.ts'
import { contentSnapshots } from './0054-content-snapshots.ts'

export const MIGRATIONS: readonly Migration[] = [
  baseTables,
  builds,
  packages,
  disk,
  contacts,
  domains,
  purges,
  unchanged,
  webhooks,
  portal,
  holds,
  consent,
  queue,
  files,
  variableKinds,
  latest,
  people,
  sources,
  heldBuilds,
  revalidations,
  firstFailure,
  redirects,
  columnNames,
  wantedInstances,
  routeChanges,
  purgeLog,
  scaling,
  certificates,
  earlierFiles,
  protection,
  images,
  objectStore,
  values,
  leadership,
  controlProcesses,
  clusterApps,
  logChunks,
  acmeChallenges,
  routed,
  clusterNodes,
  clusterLoads,
  joinTokens,
  clusterProcesses,
  schedules,
  auditEvents,
  repositories,
  connectedRepositories,
  previews,
  notices,
  badges,
  promotionChecks,
  learnedCaching,
  publishes,
  contentSnapshots,
]

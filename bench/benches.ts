/** Every measurement, in the order of the table. */
import { backup } from './backup.ts'
import type { Bench } from './bench.ts'
import { faustInstall } from './builds/faust-install.ts'
import { nextByHand } from './builds/next-by-hand.ts'
import { noLockfile } from './builds/no-lockfile.ts'
import { samePackages } from './builds/packages.ts'
import { warmRebuild } from './builds/rebuild.ts'
import { rebuildShare } from './builds/rebuild-share.ts'
import { secondApp } from './builds/second-app.ts'
import { capacity } from './capacity.ts'
import { claim } from './claim.ts'
import { cluster } from './cluster/cluster.ts'
import { contentHooks } from './content-hook.ts'
import { edgeConformance } from './edge/conformance.ts'
import { edgeHits } from './edge/hit.ts'
import { edgeLargeFile } from './edge/large-file.ts'
import { edgeMiss } from './edge/miss.ts'
import { edgePeer } from './edge/peer.ts'
import { edgePurge } from './edge/purge.ts'
import { edgeRequestLog } from './edge/request-log.ts'
import { edgeRoutes } from './edge/routes.ts'
import { edgeTls } from './edge/tls.ts'
import { manyEdges } from './edges.ts'
import { idleStatic } from './idle-static.ts'
import { images } from './images.ts'
import { instances } from './instances.ts'
import { largeSites } from './large-sites.ts'
import { listEnvironments } from './list-environments.ts'
import { objectStore } from './object-store.ts'
import { operationRead } from './operation-read.ts'
import { packing } from './packing.ts'
import { postgresRead, postgresWebhook } from './postgres.ts'
import { routeChanges } from './route-changes.ts'
import { sharedLogs } from './shared-logs.ts'
import { start } from './start.ts'
import { upload } from './upload.ts'
import { wake } from './wake.ts'
import { webhook } from './webhook.ts'

export const BENCHES: readonly Bench[] = [
  operationRead,
  start,
  listEnvironments,
  claim,
  packing,
  upload,
  objectStore,
  webhook,
  postgresRead,
  postgresWebhook,
  sharedLogs,
  nextByHand,
  wake,
  idleStatic,
  capacity,
  warmRebuild,
  rebuildShare,
  samePackages,
  noLockfile,
  secondApp,
  faustInstall,
  backup,
  images,
  ...edgeHits,
  edgeTls,
  edgeRequestLog,
  manyEdges,
  instances,
  edgeMiss,
  edgeLargeFile,
  edgePeer,
  edgeRoutes,
  routeChanges,
  largeSites,
  edgePurge,
  ...edgeConformance,
  ...contentHooks,
  cluster,
]

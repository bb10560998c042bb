/** Every measurement, in the order of the table. */
import type { Bench } from './bench.ts'
import { nextByHand } from './builds/next-by-hand.ts'
import { samePackages } from './builds/packages.ts'
import { warmRebuild } from './builds/rebuild.ts'
import { rebuildShare } from './builds/rebuild-share.ts'
import { capacity } from './capacity.ts'
import { claim } from './claim.ts'
import { cluster } from './cluster/cluster.ts'
import { edgeConformance } from './edge/conformance.ts'
import { edgeHits } from './edge/hit.ts'
import { edgeMiss } from './edge/miss.ts'
import { edgePeer } from './edge/peer.ts'
import { edgePurge } from './edge/purge.ts'
import { edgeRequestLog } from './edge/request-log.ts'
import { edgeRoutes } from './edge/routes.ts'
import { edgeTls } from './edge/tls.ts'
import { twoEdges } from './edges.ts'
import { idleStatic } from './idle-static.ts'
import { images } from './images.ts'
import { instances } from './instances.ts'
import { largeSites } from './large-sites.ts'
import { listEnvironments } from './list-environments.ts'
import { objectStore } from './object-store.ts'
import { operationRead } from './operation-read.ts'
import { postgresRead, postgresWebhook } from './postgres.ts'
import { routeChanges } from './route-changes.ts'
import { sharedLogs } from './shared-logs.ts'
import { start } from './start.ts'
import { upload } from './upload.ts'
import { webhook } from './webhook.ts'

export const BENCHES: readonly Bench[] = [
  operationRead,
  start,
  listEnvironments,
  claim,
  upload,
  objectStore,
  webhook,
  postgresRead,
  postgresWebhook,
  sharedLogs,
  nextByHand,
  idleStatic,
  capacity,
  warmRebuild,
  rebuildShare,
  samePackages,
  images,
  ...edgeHits,
  edgeTls,
  edgeRequestLog,
  twoEdges,
  instances,
  edgeMiss,
  edgePeer,
  edgeRoutes,
  routeChanges,
  largeSites,
  edgePurge,
  ...edgeConformance,
  cluster,
]

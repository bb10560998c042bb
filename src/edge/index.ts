export type { Inspection, Purge, StoredObject } from './cache/index.ts'
export { type Counts, LATENCY_BOUNDS_MS } from './counts.ts'
export type { PortalSettings } from './front-door/portal.ts'
export { contentTypeOf } from './http/content-types.ts'
export type { PathCounts } from './paths.ts'
export { createEdgeTls } from './process/edge-tls.ts'
export { type Edges, listenToEdges } from './process/edges.ts'
export type { JobSocket, JobSocketSource } from './process/job-sockets.ts'
export { LEASE_OVER_NETWORK_MS } from './process/lease.ts'
export type { EdgeMember } from './process/member.ts'
export type {
  AgentMethodsForEdge,
  EarlierIndexWanted,
  EdgeMethodsForAgent,
  FilesMethodsForEdge,
  MissedPurges,
} from './process/messages.ts'
export type { ControlRow, EdgeConnection, EdgeRecords, EdgeRow } from './process/records.ts'
export { type EdgeSettings, runEdge } from './process/run.ts'
export { type EdgesElsewhere, followEdgesElsewhere } from './process/without-edges.ts'
export type { Access, EarlierOutputs, EnvironmentRoutes, InstanceReport, RouteTarget, StoredOutput } from './routes.ts'
export type { Compiled } from './rules/compile.ts'
export { compileInThread } from './rules/compile-thread.ts'
export { RULE_LIMITS } from './rules/limits.ts'
export { RULE_FILES, type RuleFile } from './rules/rule-files.ts'
export type { SiteRules } from './rules/rules.ts'
export { filesNameOf as earlierFilesNameOf } from './static/earlier/earlier-index.ts'
export { type AssetFolder, LIST_NAME as IMMUTABLE_LIST_NAME } from './static/earlier/immutable-list.ts'
export { makeAssetList, makeEarlierIndex, makeManifest } from './static/make-manifest.ts'
export { createManifest, writeManifest } from './static/manifest.ts'
export { MANIFEST_NAME, rulesIn } from './static/manifest-file.ts'
export { lookUpOnce } from './static/manifests.ts'
export type { StaticFile, StaticManifest } from './static/types.ts'
export type { EdgeCertificate, EdgeChallenges, EdgeTls, OcspStaple } from './tls/types.ts'

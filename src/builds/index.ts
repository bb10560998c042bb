export { type AskedEndpoint, endpointsAsked, hostsAsked, isLocal, kindOf } from './diagnose/hosts.ts'
export { diagnosePhase, planSource } from './isolated/on-demand.ts'
export { needsPrograms, type Plan } from './plan/plan.ts'
export type { Source } from './plan/project/project.ts'
export { sourceInFolder } from './plan/project/source.ts'
export { checkPlan, checkTools } from './plan/stored-plan.ts'
export { usesNode, warningsOf } from './plan/warnings.ts'
export { type BuildOutput, type Built, type MadeBuild, readArchives } from './records/batches.ts'
export type {
  Build,
  BuildInputs,
  Contacts,
  FromSnapshot,
  HeldReason,
  LatestBuild,
  Promotion,
  SourceArchive,
  Suspected,
} from './records/build.ts'
export { type Builds, createBuilds } from './records/builds.ts'
export { type BuildFacts, changesSince, describeChanges } from './records/changes.ts'
export { type Failure, type FirstFailure, toFailure, toFirstFailure } from './records/failure.ts'
export { freshnessOf } from './records/freshness.ts'
export { pagesIn } from './records/pages.ts'
export { newestBuildId } from './records/read.ts'
export {
  type BuildRetention,
  createBuildRetention,
  type RetainedItem,
  type RetainingBuild,
} from './records/retention.ts'
export { mayBeCausedByCaches, reasonToRetry } from './records/retry.ts'
export { createSources, type Pin, type Sources } from './records/sources.ts'
export { createStoredCaches, type StoredCaches } from './records/stored-caches.ts'
export { type CacheUse, createBuildCaches } from './run/caches.ts'
export type { RunContent } from './run/content.ts'
export { bytesInWords, inWords, secondsInWords } from './run/log-words.ts'
export { createOutputs, DEFAULT_OUTPUT_LIMITS, type Outputs } from './run/outputs.ts'
export { createPackageStore, type PackageStore, type Packages } from './run/packages.ts'
export { binariesOf, DEFAULT_DEADLINES, type Made, type RunParts, runPlan } from './run/run.ts'
export { shareDownloads } from './run/share-downloads.ts'
export { createTarballStore, type TarballStore } from './run/tarballs.ts'
export { isAnythingIn, isFolderIn, type Size, sizeOf, textIn } from './run/untrusted-folder.ts'
export { createWorkspace, EARLIER_CONTENT, removeWorkspace, type Workspace } from './run/workspace.ts'
export { isUsableBy, openToolchains, type Toolchain, type Toolchains } from './toolchain/index.ts'

export {
  type Archive,
  type Build,
  type Builds,
  type Contacts,
  createBuilds,
  type LatestBuild,
  type Suspected,
} from './builds.ts'
export { type CacheUse, createBuildCaches } from './caches.ts'
export { type BuildFacts, changesSince, describeChanges } from './changes.ts'
export { type AskedEndpoint, endpointsAsked, hostsAsked, isLocal, kindOf } from './diagnose/hosts.ts'
export { type Failure, type FirstFailure, toFailure, toFirstFailure } from './failure.ts'
export { freshnessOf } from './freshness.ts'
export { createHoldings, type Held, type Holder, type Holdings } from './holdings.ts'
export { type Size, sizeOf } from './inside.ts'
export { diagnosePhase, planSource } from './on-demand.ts'
export { createOutputs, DEFAULT_OUTPUT_LIMITS, type Outputs } from './outputs.ts'
export { createPackageStore, type PackageStore, type Packages } from './packages.ts'
export { pagesIn } from './pages.ts'
export { needsPrograms, type Plan } from './plan.ts'
export { checkPlan, checkTools } from './plan-form.ts'
export type { Source } from './project.ts'
export { mayBeCausedByCaches, reasonToRetry } from './retry.ts'
export { binariesOf, DEFAULT_DEADLINES, type Made, type RunParts, runPlan } from './run.ts'
export { sourceInFolder } from './source.ts'
export { createSources, type Pin, type Sources } from './sources.ts'
export { isUsableBy, openToolchains, type Toolchain, type Toolchains } from './toolchain.ts'
export { usesNode, warningsOf } from './warnings.ts'
export { bytesInWords, inWords, secondsInWords } from './words.ts'
export { createWorkplace, removeWorkplace, type Workplace } from './workplace.ts'

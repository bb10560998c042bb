export { createAppVariables } from './app-variables.ts'
export { createBlame } from './blame.ts'
export { type ClearCache, createClearCache } from './clear-cache.ts'
export { buildLogName, createDeploy } from './deploy.ts'
export {
  createDeployments,
  type Deployment,
  type DeploymentHead,
  type Deployments,
  type HeldDeployment,
  isActivatable,
} from './deployments.ts'
export { type Described, describeEnvironment, type SiteUrl } from './describe.ts'
export { createFolders, type Folders } from './folders.ts'
export { watchIdle } from './idle.ts'
export { createInspect, detailsOf } from './inspect.ts'
export { createLauncher, runtimeLogName } from './launch.ts'
export { createLookAhead } from './look-ahead.ts'
export { createMake, type Room } from './make.ts'
export type { Origin } from './origins.ts'
export { createPins, type Pins } from './pins.ts'
export { createProvision } from './provision.ts'
export { type AppTimes, createPurges, type Purged, type PurgeRecord, type Purges } from './purges.ts'
export { createRedeploy } from './redeploy.ts'
export { createReplaceDomains, type ReplaceDomains } from './replace-domains.ts'
export { CHANGEABLE, type Changeable, createRequests, type Requests } from './request.ts'
export { type BuildRequests, createBuildRequests, type Quiet } from './request-build.ts'
export { createRetries, type Retries, type Retry } from './retries.ts'
export { createRetry } from './retry.ts'
export { createRevalidations, type Revalidations } from './revalidations.ts'
export { createRouting, type Routing } from './routing.ts'
export { createSuccession } from './succession.ts'
export { createSwitch } from './switch.ts'
export { createTrace, type Trace, type Traced } from './trace.ts'

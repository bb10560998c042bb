export { createBlame } from './blame.ts'
export { createAppVariables } from './deploy/app-variables.ts'
export { buildLogName, createDeploy } from './deploy/deploy.ts'
export { createInspect, detailsOf } from './deploy/inspect.ts'
export { createLauncher, runtimeLogName } from './deploy/launch.ts'
export { createLookAhead } from './deploy/look-ahead.ts'
export { type BuildSpace, createMake } from './deploy/make.ts'
export { createRedeploy } from './deploy/redeploy.ts'
export { createSuccession } from './deploy/succession.ts'
export { createSwitch } from './deploy/switch.ts'
export { type Described, describeEnvironment, type SiteUrl } from './describe.ts'
export { createFolders, type Folders } from './folders.ts'
export { watchIdle } from './idle.ts'
export { type AppTimes, createPurges, type Purged, type PurgeRecord, type Purges } from './purges.ts'
export {
  createDeployments,
  type Deployment,
  type DeploymentHead,
  type Deployments,
  type HeldDeployment,
  isActivatable,
  newestDeploymentId,
} from './records/deployments.ts'
export type { Origin } from './records/origins.ts'
export { createPins, type Pins } from './records/pins.ts'
export { createRetries, type Retries, type Retry } from './records/retries.ts'
export { createRevalidations, type Revalidations } from './records/revalidations.ts'
export { type ClearCache, createClearCache } from './requests/clear-cache.ts'
export { createProvision } from './requests/provision.ts'
export { createReplaceDomains, type ReplaceDomains } from './requests/replace-domains.ts'
export { CHANGEABLE, type Changeable, createRequests, type Requests } from './requests/request.ts'
export { type BuildRequests, createBuildRequests, type Quiet } from './requests/request-build.ts'
export { createRetry } from './retry.ts'
export { createRouting, type Routing } from './routing.ts'
export { createTrace, type Trace, type Traced } from './trace/index.ts'

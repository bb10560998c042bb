export {
  type Engine,
  type Exit,
  type Job,
  type JobNetwork,
  type Mount,
  type Output,
  type Overlay,
  type Process,
  runToEnd,
} from './engine.ts'
export { heapWithin } from './heap.ts'
export { type Excess, type Limiter, type Limits, openLimiter } from './limits/index.ts'
export {
  CONTACT_OUTCOMES,
  type Contact,
  type ContactOutcome,
  contactKey,
  newContacts,
} from './network/contacts.ts'
export { reachableByJobs } from './network/firewall/refusals.ts'
export { type NamespaceOptions, type Networks, networkProblem, openNetworks } from './network/index.ts'
export type { NetworkNamespace } from './network/namespace.ts'
export type { Answers, Endpoint } from './network/reach.ts'
export { DEFAULT_NETWORK_SETTINGS, type NetworkSettings } from './network/settings.ts'
export { type IsSite, isLocalhost, type SiteAccess } from './network/sites.ts'
export { endOrphans } from './orphans.ts'
export { checkInner } from './paths.ts'
export { overlayProblem, removeScratch } from './sandbox/overlay.ts'
export { trySandbox } from './sandbox/trial.ts'
export { dockerSeccomp } from './seccomp/docker.ts'
export { seccompProgram } from './seccomp/index.ts'
export { checkTenant } from './users.ts'

export { type Finding, findings } from './findings.ts'
export { shownProcess } from './process-names.ts'
export { MAX_LISTED, toResource } from './resource.ts'
export { type ClusterStatus, type NodeStatus, readStatus, type StatusParts } from './status.ts'

export type { NodeDescription, NodeRules } from './messages.ts'
export { createNodes, NODE_LEASE_MS, type Nodes } from './nodes.ts'
export { type NodeProcess, runNode } from './process/run.ts'
export { createNodeRecords, type NodeRecords, type NodeRow, type SwarmMember } from './records.ts'

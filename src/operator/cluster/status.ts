/** What the database says of a cluster: its processes and machines. Nothing is asked of them. */
import type { Clock } from '../../base/index.ts'
import { createPurgeLog } from '../../deployments/index.ts'
import { createNodeRecords } from '../../nodes/index.ts'
import type { OperationAtWork } from '../../operations/index.ts'
import { readLeader, type Sql } from '../../storage/index.ts'

export type NodeStatus = {
  /** In the swarm. */
  id: string
  hostname: string
  address: string
  region: string
  state: string
  /** Of its join token; empty where the role does not run. */
  name: string
  /** The control process that it follows, or followed last. */
  control: string
  /** The revision of the rules that its kernel has; 0 if that is not known. */
  confirmed: number
  isConfirmed: boolean
  memoryBytes: number
  engine: string
  version: string
  /** Null where that is not known. */
  instances: number | null
}

export type ClusterStatus = {
  /** Whether several control processes may use the database. */
  isShared: boolean
  /** Of this command. */
  version: string
  leader: { term: number; holder: string; silentMs: number } | null
  controls: { process: string; edges: number; nodes: number }[]
  lastPurge: number
  /** `behind`: purges that it may not have applied. Those of its own control process are confirmed to that alone. */
  edges: { process: string; control: string; applied: number; behind: number }[]
  /** Of the firewalls of nodes: how many addresses may call apps. */
  rules: { revision: number; edges: number } | null
  nodes: NodeStatus[]
  working: OperationAtWork[]
}

type Parts = {
  sql: Sql
  clock: Clock
  version: string
  isShared: boolean
  atWork(now: number): Promise<OperationAtWork[]>
  /** Instances of apps by the id of their node. */
  instancesByNode?: (() => Promise<ReadonlyMap<string, number>>) | undefined
}

const noChanges = { follow: () => () => undefined }

export async function readStatus({
  sql,
  clock,
  version,
  isShared,
  atWork,
  instancesByNode,
}: Parts): Promise<ClusterStatus> {
  const purges = createPurgeLog({ sql, clock, changes: noChanges })
  const records = createNodeRecords({ sql, changes: noChanges })
  const [leader, controls, edges, lastPurge] = await Promise.all([
    readLeader(sql),
    purges.controls(),
    purges.edges(),
    purges.lastPurge(),
  ])
  const [rules, nodes, working] = await Promise.all([records.rules(), records.nodes(), atWork(clock.now())])
  const instances = await instancesByNode?.()
  return {
    isShared,
    version,
    leader: leader
      ? { term: leader.term, holder: leader.holder, silentMs: Math.max(0, clock.now() - leader.time) }
      : null,
    controls: controls.map(({ process }) => ({
      process,
      edges: edges.filter(({ control }) => control === process).length,
      nodes: nodes.filter(({ control, confirmed }) => control === process && confirmed > 0).length,
    })),
    lastPurge,
    edges: edges.map(({ process, control, applied }) => ({
      process,
      control,
      applied,
      behind: Math.max(0, lastPurge - applied),
    })),
    rules: rules ? { revision: rules.revision, edges: rules.isolation.edges.length } : null,
    nodes: nodes.map(({ memory, process: _, connection: __, heartbeats: ___, ...node }) => ({
      ...node,
      memoryBytes: memory,
      isConfirmed: node.confirmed > 0 && node.confirmed === rules?.revision,
      instances: instances ? (instances.get(node.id) ?? 0) : null,
    })),
    working,
  }
}

/** What the database says of a cluster: its processes and machines. Nothing is asked of them. */
import type { Clock } from '../base/index.ts'
import { readNodeLoads } from '../cluster/index.ts'
import { createPurgeLog } from '../deployments/index.ts'
import { createNodeRecords } from '../nodes/index.ts'
import type { OperationAtWork } from '../operations/index.ts'
import { readLeader, type Sql } from '../storage/index.ts'
import { isSameProcess, pidOf } from './process-names.ts'
import { createProcessRecords, type ProcessRow } from './process-records.ts'

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
  /** What the instances there may use at most. */
  promisedBytes: number
  engine: string
  version: string
  /** Those that run or start, as the leader has seen them. */
  instances: number
}

export type ControlStatus = {
  process: string
  /** Empty where it is not known. */
  host: string
  version: string
  /** As far as names tell: the leader is on record by host and process id. */
  isLeading: boolean
  edges: number
  nodes: number
}

export type WorkerStatus = {
  process: string
  /** Empty where it is not on record. */
  host: string
  /** Builds that it does at a time; null where it is not on record, as on one machine. */
  places: number | null
  /** Empty where it is not on record. */
  version: string
  /** For how long it was not seen. */
  silentMs: number
  /** What it builds now. */
  builds: number
}

export type ClusterStatus = {
  /** Whether several control processes may use the database. */
  isShared: boolean
  /** Of the process that reads this. */
  version: string
  leader: { term: number; holder: string; silentMs: number } | null
  controls: ControlStatus[]
  lastPurge: number
  /** `behind`: purges that it may not have applied. Those of its own control process are confirmed to that alone. */
  edges: { process: string; control: string; applied: number; behind: number }[]
  workers: WorkerStatus[]
  /** Of the firewalls of nodes: how many addresses may call apps. */
  rules: { revision: number; edges: number } | null
  nodes: NodeStatus[]
  working: OperationAtWork[]
}

export type StatusParts = {
  sql: Sql
  clock: Clock
  version: string
  isShared: boolean
  atWork(now: number): Promise<OperationAtWork[]>
}

const noChanges = { follow: () => () => undefined }

/** Queues of operations that build. */
const BUILDS = ['build', 'light']

export async function readStatus({ sql, clock, version, isShared, atWork }: StatusParts): Promise<ClusterStatus> {
  const purges = createPurgeLog({ sql, clock, changes: noChanges })
  const records = createNodeRecords({ sql, changes: noChanges })
  const now = clock.now()
  const [leader, controls, edges, lastPurge] = await Promise.all([
    readLeader(sql),
    purges.controls(),
    purges.edges(),
    purges.lastPurge(),
  ])
  const [rules, nodes, loads] = await Promise.all([records.rules(), records.nodes(), readNodeLoads(sql)])
  const [processes, working] = await Promise.all([createProcessRecords(sql).all(), atWork(now)])
  return {
    isShared,
    version,
    leader: leader ? { term: leader.term, holder: leader.holder, silentMs: Math.max(0, now - leader.time) } : null,
    controls: withHosts(controls, processes, leader?.holder).map(({ process, ...facts }) => ({
      process,
      ...facts,
      edges: edges.filter(({ control }) => control === process).length,
      nodes: nodes.filter(({ control, confirmed }) => confirmed > 0 && isSameProcess(control, process)).length,
    })),
    lastPurge,
    edges: edges.map(({ process, control, applied }) => ({
      process,
      control,
      applied,
      behind: Math.max(0, lastPurge - applied),
    })),
    workers: workersOf(processes, working, now),
    rules: rules ? { revision: rules.revision, edges: rules.isolation.edges.length } : null,
    nodes: nodes.map(({ memory, process: _, connection: __, heartbeats: ___, ...node }) => ({
      ...node,
      memoryBytes: memory,
      promisedBytes: loads.get(node.id)?.memoryBytes ?? 0,
      isConfirmed: node.confirmed > 0 && node.confirmed === rules?.revision,
      instances: loads.get(node.id)?.instances ?? 0,
    })),
    working,
  }
}

/** The host of a leader is in its name, and that of others where they are on record. */
function withHosts(controls: readonly { process: string }[], rows: readonly ProcessRow[], holder: string | undefined) {
  const [leaderHost = '', leaderPid] = holder?.split(' ') ?? []
  const samePid = controls.filter(({ process }) => pidOf(process) === leaderPid)
  return controls.map(({ process }) => {
    const row = rows.find((one) => isSameProcess(one.process, process))
    const isLeading = pidOf(process) === leaderPid && (row ? row.host === leaderHost : samePid.length === 1)
    return { process, host: row?.host ?? (isLeading ? leaderHost : ''), version: row?.version ?? '', isLeading }
  })
}

/** Those on record, and others that build: on one machine, the control process does. */
function workersOf(rows: readonly ProcessRow[], working: readonly OperationAtWork[], now: number): WorkerStatus[] {
  const building = working.filter(({ queue }) => BUILDS.includes(queue))
  const workers = rows.filter(({ role }) => role === 'worker')
  const known = workers.map(({ process, host, places, version, seenTime }) => ({
    process,
    host,
    places,
    version,
    silentMs: Math.max(0, now - seenTime),
    builds: building.filter(({ owner }) => isSameProcess(owner, process)).length,
  }))
  const others = Map.groupBy(
    building.filter(({ owner }) => !known.some(({ process }) => isSameProcess(owner, process))),
    ({ owner }) => owner,
  )
  return [
    ...known,
    ...[...others].map(([process, { length: builds }]) => ({
      ...{ process, host: '', places: null, version: '' },
      ...{ silentMs: 0, builds },
    })),
  ]
}

/** For names of processes. */
export const knownHosts = ({ controls, workers }: ClusterStatus): { process: string; host: string }[] => [
  ...controls,
  ...workers,
]

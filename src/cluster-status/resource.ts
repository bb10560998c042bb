/** The status as the API shows it: names that people read, and no more of each kind than a page can show. */
import { names, type resources } from '../contract/index.ts'
import type { Finding } from './findings.ts'
import { createLabels } from './process-names.ts'
import { type ClusterStatus, knownHosts, type NodeStatus } from './status.ts'

/** Of each list. */
export const MAX_LISTED = 200

type Parts = {
  status: ClusterStatus
  findings: readonly Finding[]
  /** Names of accounts, by id. */
  accounts: ReadonlyMap<string, string>
}

export function toResource({ status, findings, accounts }: Parts): resources.Cluster {
  const { isShared: shared, version, leader, controls, edges, workers, nodes, working } = status
  const label = createLabels(knownHosts(status))
  return {
    shared,
    version,
    ...(leader
      ? {
          leader: {
            process: leader.holder.split(' ').slice(0, 2).join(' '),
            term: leader.term,
            silentSeconds: seconds(leader.silentMs),
          },
        }
      : {}),
    controls: first(controls).map(({ process, version, isLeading, edges, nodes }) => ({
      process: label(process),
      ...(version ? { version } : {}),
      leading: isLeading,
      edges,
      nodes,
    })),
    // Those that are most behind, first.
    edges: first(edges.toSorted((a, b) => b.behind - a.behind)).map(({ process, control, behind }) => ({
      process: label(process),
      control: label(control),
      behind,
    })),
    workers: first(workers).map(({ process, places, version, silentMs, builds }) => ({
      process: label(process),
      builds,
      silentSeconds: seconds(silentMs),
      ...(places === null ? {} : { places, version }),
    })),
    nodes: first(nodes).map(nodeOf),
    work: first(working).map(({ owner, queue, trigger, phase, id, account, app, environment }) => ({
      process: label(owner),
      queue,
      trigger: trigger as resources.Trigger,
      phase,
      operation: names.operationResource({ account: accounts.get(account) ?? '-', app, environment }, id),
    })),
    findings: first(findings.toSorted((a, b) => Number(b.state === 'broken') - Number(a.state === 'broken'))),
    counts: {
      controls: controls.length,
      edges: edges.length,
      workers: workers.length,
      nodes: nodes.length,
      work: working.length,
      findings: findings.length,
    },
  }
}

const first = <T>(all: readonly T[]): T[] => all.slice(0, MAX_LISTED)
const seconds = (ms: number): number => Math.round(ms / 1000)

const nodeOf = (node: NodeStatus): resources.Cluster['nodes'][number] => ({
  name: node.hostname || node.name || node.id,
  address: node.address,
  region: node.region,
  state: node.state,
  confirmed: node.isConfirmed,
  instances: node.instances,
  memoryBytes: node.memoryBytes,
  promisedBytes: node.promisedBytes,
  engine: node.engine,
  version: node.version,
})

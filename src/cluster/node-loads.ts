/** What runs on each node, as the leader has seen it. */
import { type Reader, statement } from '../storage/index.ts'
import type { ServiceShape } from './rows.ts'

/** `memoryBytes`: what its instances may use at most, all together. */
export type NodeLoad = { instances: number; memoryBytes: number }

/** Instances that run or start, by the id of their node in the swarm. */
export async function readNodeLoads(reader: Reader): Promise<Map<string, NodeLoad>> {
  const found = await reader.query<{ node: string; service: string; count: number }>(statement`
    SELECT seen.node AS node, app.service AS service, seen.count AS count
    FROM (
      SELECT node, deployment, COUNT(*) AS count FROM cluster_instances
      WHERE node IS NOT NULL AND state IN ('STARTING', 'RUNNING') GROUP BY node, deployment) AS seen
    JOIN cluster_apps AS app ON app.deployment = seen.deployment`)
  const loads = new Map<string, NodeLoad>()
  for (const { node, service, count } of found) {
    const { memoryBytes } = JSON.parse(service) as ServiceShape
    const load = loads.get(node) ?? { instances: 0, memoryBytes: 0 }
    const instances = load.instances + Number(count)
    loads.set(node, { instances, memoryBytes: load.memoryBytes + Number(count) * memoryBytes })
  }
  return loads
}

/** Apps on a swarm: a control process that runs no programs, and a worker that runs builds. */
import { hostname } from 'node:os'
import { type Log, processName } from '../base/index.ts'
import type { GitRequest } from '../branches/index.ts'
import type { ClusterPort } from '../channel/index.ts'
import { type ProcessRow, recordProcess } from '../cluster-status/index.ts'
import type { Edges } from '../edge/index.ts'
import { createGitWorkers, GIT_TOPIC } from '../git/index.ts'
import { machineWithoutPrograms } from '../no-programs.ts'
import type { Config } from '../settings.ts'
import type { Leadership } from '../storage/index.ts'
import { version } from '../version.ts'
import { type Apps, assembleApps } from './apps.ts'
import { openClusterApps, openNodes, openSwarm } from './cluster.ts'
import { openEdgesElsewhere } from './edge.ts'
import { variablesOfSwarm } from './hosting.ts'
import { openAgent } from './on-agent.ts'
import type { State } from './state.ts'

type Parts = {
  config: Config
  log: Log
  state: State
  started: AsyncDisposableStack
  edges: Edges
  edgePort: number
  clusterPort: ClusterPort | undefined
  /** Sockets for apps. */
  inAppFds: readonly number[]
  leadership: Pick<Leadership, 'lead'>
}

/** A control process: it tells the swarm what should run while it leads, and answers apps on nodes. */
export async function runOnSwarm(parts: Parts) {
  const { config, log, state, started, edges, clusterPort, inAppFds, leadership } = parts
  const machine = machineWithoutPrograms(config)
  const { docker, regions, prepare } = await openSwarm({ config, log, clock: state.database.clock, started })
  regions.start()
  started.defer(() => regions.stop())
  const nodes = await openNodes({ ...state, config, log, started }, { isControl: true })
  clusterPort?.serve({ role: 'node' }, nodes.serveNode)
  const cluster = await openClusterApps({ ...state, config, log, started, nodes, edges })
  clusterPort?.serve({ role: 'edge', topic: 'instances' }, cluster.serveEdge)
  const gitWorkers = createGitWorkers<GitRequest>()
  clusterPort?.serve({ role: 'worker', topic: GIT_TOPIC }, gitWorkers.serveWorker)
  nodes.onMemory(({ node, used }) => void cluster.setMemory(node, used))
  leadership.lead(prepare)
  leadership.lead(nodes.lead({ docker }))
  leadership.lead(cluster.lead({ docker, cluster: config.swarmCluster }))
  const apps: Apps = await assembleApps({
    ...parts,
    machine,
    instances: cluster.instances,
    async openVariables(hosting) {
      const [fd] = inAppFds
      if (fd !== undefined) await hosting.inApp.listen({ fd })
      return variablesOfSwarm({ config, ...state })
    },
  })
  recordThis(parts, { role: 'control', places: 0 })
  // Live apps that are not on record sleep, as after a move from one machine.
  await apps.live.launcher.restore()
  return { machine, ...apps, regions, gitWorkers }
}

type RecordParts = { log: Log; state: State; started: AsyncDisposableStack }

/** For operators. */
function recordThis({ log, state, started }: RecordParts, facts: Pick<ProcessRow, 'role' | 'places'>) {
  const { sql, clock } = state.database
  const row = { ...facts, process: processName(), host: hostname(), version }
  const recorded = recordProcess({ sql, clock, log, row })
  started.defer(() => recorded.stop())
}

type WorkerParts = Parameters<typeof openAgent>[0] & { edgePort: number }

/** A worker: builds run under its agent, and it is not among those who lead or whom edges follow. */
export async function buildForSwarm(parts: WorkerParts) {
  const { config, log, state, started } = parts
  const edges = await openEdgesElsewhere({ log, database: state.database })
  started.defer(() => edges.close())
  const { machine } = await openAgent(parts)
  const nodes = await openNodes({ ...state, config, log, started }, { isControl: false })
  const { instances } = await openClusterApps({ ...state, config, log, started, nodes, edges })
  const openVariables = async () => variablesOfSwarm({ config, ...state })
  recordThis(parts, { role: 'worker', places: config.concurrency })
  return { machine, ...(await assembleApps({ ...parts, edges, machine, instances, openVariables })) }
}

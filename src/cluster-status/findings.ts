/** What is wrong with a cluster, and what to do about it: pure. */
import { createLabels } from './process-names.ts'
import type { ClusterStatus, NodeStatus, WorkerStatus } from './status.ts'

/** `weaker`: it works, with less protection or reserve; `broken`: something does not work. */
export type Finding = { part: string; state: 'weaker' | 'broken'; found: string; advice: string }

/** Several times as long as the leader may be silent before another process takes over. */
const LEADER_SILENT_MS = 30_000
/** Several times as long as a worker is silent between two records of it. */
const WORKER_SILENT_MS = 60_000
/** The first one that applies all restrictions of apps. */
const MIN_ENGINE = 25

const broken = (part: string, found: string, advice: string): Finding => ({ part, state: 'broken', found, advice })
const weaker = (part: string, found: string, advice: string): Finding => ({ part, state: 'weaker', found, advice })

/** Empty where all is well. */
export function findings(status: ClusterStatus): Finding[] {
  return [
    ...ofControl(status),
    ...ofEdges(status),
    ...ofWorkers(status),
    ...ofRules(status),
    ...ofRegions(status),
    ...status.nodes.flatMap((node) => ofNode(node, status)),
  ]
}

function ofControl({ isShared, leader, controls, version }: ClusterStatus): Finding[] {
  if (!isShared) return []
  const start = 'Look at the control machines: systemctl status headland, and the log of each.'
  if (!leader) return [broken('control', 'no control process has led yet', start)]
  if (leader.silentMs > LEADER_SILENT_MS) {
    const seconds = Math.round(leader.silentMs / 1000)
    return [broken('control', `no control process leads: ${leader.holder} was last seen ${seconds} s ago`, start)]
  }
  const alone =
    controls.length < 2
      ? [weaker('control', 'there is one control process, and none to take over', 'Start another on a second machine.')]
      : []
  return [...alone, ...controls.flatMap((control) => ofVersion('control process', control, version))]
}

/** Empty where it is not known. */
type Versioned = { process: string; host: string; version: string }

function ofVersion(kind: string, one: Versioned, current: string): Finding[] {
  if (one.version === '' || one.version === current) return []
  const part = `${kind} ${createLabels([one])(one.process)}`
  return [weaker(part, `it runs Headland ${one.version}, and this is ${current}`, 'Upgrade one of them.')]
}

function ofEdges({ edges, controls, nodes }: ClusterStatus): Finding[] {
  if (edges.length === 0 && nodes.length > 0)
    return [
      broken(
        'edges',
        'no edge follows a control process',
        "Start one: 'headland cluster token edge NAME', then serve with roles edge, controlAddresses and clusterToken.",
      ),
    ]
  const known = new Set(controls.map(({ process }) => process))
  const lost = edges.filter(({ control }) => !known.has(control)).length
  return lost > 0
    ? [
        weaker(
          'edges',
          `${lost} of ${edges.length} edges followed a control process that is gone`,
          'Wait a minute; then look whether they reach an address of their setting controlAddresses.',
        ),
      ]
    : []
}

function ofWorkers({ workers, nodes, version }: ClusterStatus): Finding[] {
  const there = workers.filter(({ silentMs }) => silentMs <= WORKER_SILENT_MS)
  if (there.length === 0 && nodes.length > 0)
    return [
      broken(
        'workers',
        'there is no worker, so nothing is built',
        'Start one: serve with roles worker, on a machine for builds.',
      ),
    ]
  return workers.flatMap((worker) => ofWorker(worker, version))
}

function ofWorker(worker: WorkerStatus, current: string): Finding[] {
  const { process, silentMs } = worker
  const part = `worker ${createLabels([worker])(process)}`
  if (silentMs > WORKER_SILENT_MS)
    return [
      weaker(
        part,
        `it was last seen ${Math.round(silentMs / 1000)} s ago`,
        'Look at its machine, and whether it reaches the database. If it was removed, it is forgotten after an hour.',
      ),
    ]
  return ofVersion('worker', worker, current)
}

function ofRules({ rules, nodes }: ClusterStatus): Finding[] {
  if (nodes.length === 0) return []
  if (!rules) return [broken('isolation', 'nodes have no rules yet', 'Start a control process with engine swarm.')]
  return rules.edges === 0
    ? [
        broken(
          'isolation',
          'no address may call apps',
          'Set edgeAddresses of the control processes to the addresses of edges and control machines, and restart them.',
        ),
      ]
    : []
}

function ofRegions({ nodes }: ClusterStatus): Finding[] {
  const regions = Map.groupBy(
    nodes.filter(({ region }) => region !== ''),
    ({ region }) => region,
  )
  return [...regions].flatMap(([region, all]) =>
    all.some(({ isConfirmed, state }) => isConfirmed && state === 'ready')
      ? []
      : [
          broken(
            `region ${region}`,
            'no node of it is ready and confirmed, so its apps do not answer',
            'See its nodes below.',
          ),
        ],
  )
}

function ofNode(node: NodeStatus, { rules, version }: ClusterStatus): Finding[] {
  const part = `node ${node.hostname || node.name || node.id}`
  const found: (Finding | undefined)[] = [
    ofConfirmation(part, node, rules?.revision ?? 0),
    node.state === 'down'
      ? weaker(part, 'the swarm does not reach it', 'Look whether it runs, and its Docker.')
      : undefined,
    ['drain', 'pause'].includes(node.state)
      ? weaker(part, `its availability is ${node.state}`, `docker node update --availability active ${node.id}`)
      : undefined,
    node.region === '' && node.name !== ''
      ? weaker(part, 'it has no region, so no app runs there', `docker node update --label-add region=EU-W ${node.id}`)
      : undefined,
    node.engine !== '' && Number.parseInt(node.engine, 10) < MIN_ENGINE
      ? broken(part, `Docker ${node.engine} cannot isolate apps`, `Upgrade it to Docker ${MIN_ENGINE} or newer.`)
      : undefined,
    node.version !== '' && node.version !== version
      ? weaker(part, `it runs Headland ${node.version}, and this is ${version}`, 'Upgrade one of them.')
      : undefined,
  ]
  return found.filter((one) => one !== undefined)
}

function ofConfirmation(part: string, node: NodeStatus, revision: number): Finding | undefined {
  if (node.isConfirmed || (node.region === '' && node.name === '')) return undefined
  if (node.name === '')
    return broken(
      part,
      `apps of ${node.region} may be placed there, and the role node does not run: no visitor is sent to it`,
      "Start it there: 'headland cluster token node NAME', then serve with roles node, controlAddresses and clusterToken.",
    )
  if (node.confirmed > 0)
    return broken(
      part,
      `it has the rules of revision ${node.confirmed}, and not of ${revision}`,
      'Look at the log of its role node: nft may refuse them.',
    )
  return broken(
    part,
    'it does not confirm that it keeps apps apart: no visitor is sent to it',
    'Look at the log of its role node: does it run as root, reach a control process and Docker, and have nft?',
  )
}

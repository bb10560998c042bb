/**
 * A whole cluster: three machines with Docker and the role `node`, two control processes, a worker, two edges, PostgreSQL, an
 * object store and a registry. All but the nodes are in the network of the test itself, which is one of its own.
 */
import { LABELS } from '../../../src/swarm/index.ts'
import { freePort } from '../certificates/pebble.ts'
import type { Scope } from '../folder.ts'
import { type Swarm, startSwarm } from '../machine/swarm.ts'
import { startService, type TestService } from '../service/service.ts'
import { startShared } from '../service/swarm-service.ts'
import { type NodeRole, nodeRole } from './node-roles.ts'

export type Whole = {
  swarm: Swarm
  shared: Awaited<ReturnType<typeof startShared>>
  controls: readonly [TestService, TestService]
  worker: TestService
  edges: readonly [TestService, TestService]
  nodeRoles: readonly NodeRole[]
  /** Another one, as on a machine that is added; with the data folder of one that was killed, that one. */
  startWorker(dataDir?: string): Promise<TestService>
  /** In whichever order: with the same data folder, the one that was killed before. */
  startControl(at: number, dataDir?: string): Promise<TestService>
  startEdge(name: string, dataDir?: string): Promise<TestService>
}

export const REGIONS = ['EU-W', 'EU-W', 'US-C'] as const

type Options = {
  /** Addresses, with ports, that builds and apps may call in the network of the test. */
  mayCall?: readonly string[]
  /** Further settings of control processes and workers. */
  settings?: Record<string, string>
  /** Whether commits of PostgreSQL reach the disk: needed only where speed is measured. */
  isDurable?: boolean
  /** How an edge reaches a control process, if not directly. */
  wayToControl?(edge: string, address: string): Promise<string>
}

/** The scope has to end things in reverse. */
export async function startWhole(t: Scope, options: Options = {}): Promise<Whole> {
  const { mayCall = [], settings = {}, isDurable = false, wayToControl } = options
  const swarm = await startSwarm(t, [...REGIONS], { isHere: true, hasNetwork: false })
  const { address } = swarm
  const shared = await startShared(t, { registryHost: address, isDurable })
  const at = async () => ({ cluster: `${address}:${await freePort()}`, inApp: `${address}:${await freePort()}` })
  const places = [await at(), await at()] as const
  const controlAddresses = places.map(({ cluster }) => cluster).join(',')
  const forAll = {
    HEADLAND_DOCKER_SOCKET: swarm.nodes[0].socketPath,
    HEADLAND_IN_APP_URL: `http://${places[0].inApp}`,
    HEADLAND_EDGE_ADDRESSES: address,
    HEADLAND_OPERATOR_ACCOUNTS: 'default',
    HEADLAND_IDLE_TIMEOUT: '10',
    HEADLAND_APPS_MAY_CALL: [...places.map(({ inApp }) => inApp), ...mayCall].join(','),
    ...(mayCall.length > 0 ? { HEADLAND_ALLOWED_NETWORKS: mayCall.join(',') } : {}),
    HEADLAND_LOG_LEVEL: 'warn',
    ...settings,
  }
  const startControl = (index: number, dataDir?: string) =>
    shared.control(
      {
        ...forAll,
        HEADLAND_CLUSTER_LISTEN: places[index]?.cluster ?? '',
        HEADLAND_IN_APP_LISTEN: places[index]?.inApp ?? '',
      },
      dataDir,
    )
  const startWorker = (dataDir?: string) =>
    shared.worker({ ...forAll, HEADLAND_CONTROL_ADDRESSES: controlAddresses }, dataDir)
  const controls = [await startControl(0), await startControl(1)] as const
  const tokenOf = async (name: string) => shared.joinTokenOf('node', name)
  const nodeRoles: NodeRole[] = []
  for (const node of swarm.nodes) {
    const role = await nodeRole(t, node, { address: controlAddresses, tokenOf })
    await role.start()
    nodeRoles.push(role)
  }
  const edgeSettings = new Map<string, Promise<Record<string, string>>>()
  const settingsOfEdge = async (name: string) => ({
    HEADLAND_CLUSTER_TOKEN: shared.joinTokenOf('edge', name),
    HEADLAND_CONTROL_ADDRESSES: wayToControl
      ? (await Promise.all(places.map(({ cluster }) => wayToControl(name, cluster)))).join(',')
      : controlAddresses,
  })
  const startEdge = async (name: string, dataDir?: string) => {
    // Made once, so that an edge is started again without a database.
    const own = edgeSettings.get(name) ?? settingsOfEdge(name)
    edgeSettings.set(name, own)
    return startService(t, {
      ...(dataDir === undefined ? {} : { dataDir }),
      settings: {
        HEADLAND_ENGINE: 'swarm',
        HEADLAND_ROLES: 'edge',
        HEADLAND_REGISTRY: shared.registry.url,
        HEADLAND_REGISTRY_PLAIN_HTTP: 'true',
        HEADLAND_LOG_LEVEL: 'warn',
        ...(await own),
      },
    })
  }
  return {
    swarm,
    shared,
    controls,
    worker: await startWorker(),
    edges: [await startEdge('edge-1'), await startEdge('edge-2')],
    nodeRoles,
    startWorker,
    startControl,
    startEdge,
  }
}

/** Regions of the nodes on which instances of a deployment run. */
export async function regionsOf({ nodes }: Swarm, deployment: string): Promise<string[]> {
  const [manager] = nodes
  const label = `label=${LABELS.deployment}=${deployment.split('/').at(-1)}`
  const service = await manager.docker('service', 'ls', '--quiet', '--filter', label)
  const only = ['--filter', 'desired-state=running', '--format', '{{.Node}}']
  const names = (await manager.docker('service', 'ps', ...only, service)).split('\n')
  return names.map((name) => REGIONS[nodes.findIndex(({ hostname }) => hostname === name)] ?? name)
}

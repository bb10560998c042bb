/**
 * A whole cluster: three machines with Docker and the role `node`, two control processes, a worker, two edges, PostgreSQL, an
 * object store and a registry. All but the nodes are in the network of the test itself, which is one of its own.
 */
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
  /** Another one, as on a machine that is added. */
  startWorker(): Promise<TestService>
  /** In whichever order: with the same data folder, the one that was killed before. */
  startControl(at: number, dataDir?: string): Promise<TestService>
  startEdge(name: string, dataDir?: string): Promise<TestService>
}

export const REGIONS = ['EU-W', 'EU-W', 'US-C'] as const

type Options = {
  /** Further settings of control processes and workers. */
  settings?: Record<string, string>
  /** Whether commits of PostgreSQL reach the disk: needed only where speed is measured. */
  isDurable?: boolean
}

/** The scope has to end things in reverse. */
export async function startWhole(t: Scope, { settings = {}, isDurable = false }: Options = {}): Promise<Whole> {
  const swarm = await startSwarm(t, [...REGIONS], { isHere: true, hasNetwork: false })
  const { address } = swarm
  const shared = await startShared(t, { registryHost: address, isDurable })
  const at = async () => ({ cluster: `${address}:${await freePort()}`, inApp: `${address}:${await freePort()}` })
  const places = [await at(), await at()] as const
  const controlAddresses = places.map(({ cluster }) => cluster).join(',')
  const forAll = {
    HEADLAND_SWARM_SOCKET: swarm.nodes[0].socketPath,
    HEADLAND_IN_APP_URL: `http://${places[0].inApp}`,
    HEADLAND_EDGE_ADDRESSES: address,
    HEADLAND_IDLE_TIMEOUT: '10',
    HEADLAND_APPS_MAY_CALL: places.map(({ inApp }) => inApp).join(','),
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
  const startWorker = () => shared.worker(forAll)
  const controls = [await startControl(0), await startControl(1)] as const
  const tokenOf = async (role: string, name: string) =>
    (await controls[0].operator('cluster', 'token', role, name)).trim()
  const nodeRoles: NodeRole[] = []
  for (const node of swarm.nodes) {
    const role = await nodeRole(t, node, { address: controlAddresses, tokenOf: (name) => tokenOf('node', name) })
    await role.start()
    nodeRoles.push(role)
  }
  const startEdge = async (name: string, dataDir?: string) =>
    startService(t, {
      ...(dataDir === undefined ? {} : { dataDir }),
      settings: {
        HEADLAND_ENGINE: 'swarm',
        HEADLAND_ROLES: 'edge',
        HEADLAND_REGISTRY: shared.registry.url,
        HEADLAND_REGISTRY_PLAIN_HTTP: 'true',
        HEADLAND_CONTROL_ADDRESSES: controlAddresses,
        HEADLAND_CLUSTER_TOKEN: await tokenOf('edge', name),
        HEADLAND_LOG_LEVEL: 'warn',
      },
    })
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

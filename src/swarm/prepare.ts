/** What a swarm needs before apps run on it: the network of apps, and a short history of tasks. */
import type { Clock, Log } from '../base/index.ts'
import type { LeaderWork } from '../storage/index.ts'
import type { Docker } from './docker/client.ts'
import { isTaken } from './docker/failure.ts'
import { BRIDGE, NETWORK, NETWORK_CONFIG } from './names.ts'

/** A crashed task of each place among the replicas says why; more of them would make every list longer. */
const TASK_HISTORY = 1

/** Once on a manager, after every node has `prepareNode`. May be repeated. */
export async function prepareSwarm(docker: Docker): Promise<void> {
  await docker.check()
  await docker.changeCluster((spec) =>
    spec.Orchestration?.TaskHistoryRetentionLimit === TASK_HISTORY
      ? undefined
      : { ...spec, Orchestration: { ...spec.Orchestration, TaskHistoryRetentionLimit: TASK_HISTORY } },
  )
  const there = await docker.networks({ name: [NETWORK] })
  if (there.some(({ Name, Scope }) => Name === NETWORK && Scope === 'swarm')) return
  await docker
    .createNetwork({ Name: NETWORK, Driver: 'bridge', Scope: 'swarm', ConfigFrom: { Network: NETWORK_CONFIG } })
    .catch((error) => {
      if (!isTaken(error)) throw error
    })
}

/**
 * On the engine of each node: a bridge of the same name, by which firewall rules find it, and on which apps do not reach each
 * other. Its addresses may be the same on every node, since no packet leaves a node with them.
 */
export async function prepareNode(docker: Pick<Docker, 'networks' | 'createNetwork'>, subnet: string): Promise<void> {
  const there = await docker.networks({ name: [NETWORK_CONFIG] })
  if (there.some(({ Name }) => Name === NETWORK_CONFIG)) return
  await docker.createNetwork({
    Name: NETWORK_CONFIG,
    ConfigOnly: true,
    IPAM: { Config: [{ Subnet: subnet }] },
    Options: {
      'com.docker.network.bridge.name': BRIDGE,
      'com.docker.network.bridge.enable_icc': 'false',
    },
  })
}

const AGAIN_MS = 5000

type KeepParts = { docker: Docker; clock: Clock; log: Log }

/** For the leader: the swarm is prepared as soon as the manager's own node is, which its role does. */
export const prepareWhileLeading =
  ({ docker, clock, log }: KeepParts): LeaderWork =>
  ({ signal: isOver }) => {
    const stopping = new AbortController()
    const over = AbortSignal.any([stopping.signal, isOver])

    async function prepare() {
      for (let isReported = false; !over.aborted; await clock.sleep(AGAIN_MS, over)) {
        try {
          return await prepareSwarm(docker)
        } catch (error) {
          if (!isReported) log.warn({ err: error }, 'the swarm is not prepared for apps yet, which is tried again')
          isReported = true
        }
      }
    }
    const prepared = prepare()

    return {
      async stop() {
        stopping.abort()
        await prepared
      },
    }
  }

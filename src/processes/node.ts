/** The process of a node, which keeps the firewall of the apps that Docker runs there. */
import { createLog, processName, systemClock } from '../base/index.ts'
import type { PeerAddress } from '../channel/index.ts'
import { filesIn } from '../data-files.ts'
import { runNode } from '../nodes/index.ts'
import type { Config } from '../settings.ts'
import { createDocker } from '../swarm/index.ts'
import { version } from '../version.ts'
import { createChildLife } from './child.ts'

/** The token is given here, as no secret is in its environment. */
export type NodeBegin = { controls: readonly PeerAddress[] }

export async function runNodeProcess({ dataDir, dockerSocket, jobNetwork, logLevel, logFormat }: Config) {
  const life = createChildLife<NodeBegin, null>()
  const { controls } = await life.begin
  const docker = createDocker({ address: { socketPath: dockerSocket } })
  const node = await runNode({
    clock: systemClock,
    log: createLog(logLevel, logFormat),
    name: processName(),
    version,
    controls,
    docker,
    subnet: jobNetwork,
    rulesFile: filesIn(dataDir).nodeRules,
    portsFile: filesIn(dataDir).nodePorts,
  })
  life.ready(null)
  await life.stopRequested
  await node.stop()
  docker.close()
  life.leave()
}

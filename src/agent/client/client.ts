/** The agent as the control process uses it. */
import type { Clock, Log } from '../../base/index.ts'
import type { Networks } from '../../engines/index.ts'
import type { ControlMethods, MachineDescription } from '../messages.ts'
import { connectToAgent } from './connection.ts'
import { createEngineClient, createOutputs } from './engine.ts'
import { createInstancesClient } from './instances.ts'

type Parts = {
  clock: Clock
  log: Log
  version: string
  /** The socket of the agent. */
  path: string
  /** Deployments that had visitors. */
  onVisited(deployments: readonly string[]): void
}

/** What builds need of the networks, and what the service needs to know of them. */
export type BuildNetworks = Pick<Networks, 'open' | 'answers' | 'obstacle'> & {
  /** Apps reach the service at this port of their gateway. */
  openService(at: { gateway: string; port: number }): Promise<void>
}

export function createAgentClient({ clock, log, version, path, onVisited }: Parts) {
  const outputs = createOutputs()
  const methods: ControlMethods = {
    output: outputs.receive,
    states: (reports) => instances.methods.states(reports),
    reset: (deployment) => instances.methods.reset(deployment),
    visited: onVisited,
    toolsOf: (deployment) => instances.methods.toolsOf(deployment),
  }
  const connection = connectToAgent({ clock, log, version, path, methods })
  const { call } = connection
  const instances = createInstancesClient({ call, outputs })
  connection.onLost(instances.onLost)
  const { engine, open } = createEngineClient({ connection, outputs })

  const networks: BuildNetworks = {
    open,
    answers: (endpoint) => call('answers', endpoint),
    obstacle: async () => (await call('obstacle', null)) ?? undefined,
    openService: (at) => call('openService', at),
  }

  return {
    describe: (): Promise<MachineDescription> => call('describe', null),
    engine,
    networks,
    instances: instances.instances,
    /** Called for each connection after the first: another agent has taken over, and knows nothing. */
    onRestart: connection.onReconnect,
    stop: connection.stop,
  }
}

export type AgentClient = ReturnType<typeof createAgentClient>

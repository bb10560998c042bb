/** Builds and apps on this machine, under its agent. */
import { createAgentClient } from '../agent/index.ts'
import type { Log } from '../base/index.ts'
import type { DataFiles } from '../data-files.ts'
import { recordVisits } from '../deployments/index.ts'
import type { Edges } from '../edge/index.ts'
import { openMachine } from '../machine.ts'
import type { Config } from '../settings.ts'
import { version } from '../version.ts'
import { assembleApps } from './apps.ts'
import { listenToApps } from './hosting.ts'
import { restoreApps } from './restoring.ts'
import type { State } from './state.ts'

type AgentParts = { config: Config; files: DataFiles; log: Log; state: State; started: AsyncDisposableStack }

/** The agent beside this process, and the machine on which it runs programs. */
export async function openAgent({ config, files, log, state, started }: AgentParts) {
  const { database, records } = state
  const { clock } = database
  const visits = recordVisits({ clock, log, wantedInstances: records.wantedInstances })
  started.defer(() => visits.stop())
  const agent = createAgentClient({ clock, log, version, path: files.agentSocket, onVisited: visits.add })
  started.defer(() => agent.stop())
  const machine = await openMachine(config, files.toolchain, { agent, log })
  started.defer(() => machine.close())
  return { agent, machine }
}

type Parts = AgentParts & {
  edges: Edges
  edgePort: number
  /** Sockets for apps: that of the newest agent first. */
  inAppFds: readonly number[]
}

/** Resolves when the agent knows what is live. Apps that were awake and do not run are started again. */
export async function runOnAgent(parts: Parts) {
  const { log, state, started, inAppFds: fds } = parts
  const { database, records } = state
  const { agent, machine } = await openAgent(parts)
  let reopenService = async (): Promise<void> => undefined
  const apps = await assembleApps({
    ...parts,
    machine,
    instances: agent.instances,
    async openVariables(hosting) {
      const opened = await listenToApps({ database, records, hosting, networks: machine.networks, fds })
      reopenService = opened.reopenService
      return opened.appVariables
    },
  })
  await restoreApps({ log, database, ...apps, agent, started, reopenService })
  return { machine, ...apps, regions: undefined, gitWorkers: undefined }
}

/** The process of the agent. */
import { startAgent } from '../agent/index.ts'
import { createLog, systemClock } from '../base/index.ts'
import { filesIn } from '../data-files.ts'
import { endOrphans } from '../engines/index.ts'
import { openPrograms } from '../programs.ts'
import type { Config } from '../settings.ts'
import { createLineLogs } from '../storage/index.ts'
import { version } from '../version.ts'
import { createChildLife } from './child.ts'

/** Less than the time within which a stop is promised. */
const GRACE_MS = 5000

/** `gateway`: where apps reach the service. */
export type AgentReady = { gateway: string }

/** `isSuccessor`: it takes the place of another agent, which goes on until then. `edgePort`: what the edge listens on. */
export type AgentBegin = { isSuccessor: boolean; edgePort: number }

export async function runAgentProcess(config: Config) {
  const life = createChildLife<AgentBegin, AgentReady>()
  const { isSuccessor, edgePort } = await life.begin
  const log = createLog(config.logLevel, config.logFormat)
  const files = filesIn(config.dataDir)
  if (process.platform === 'linux') endOrphans(config.dataDir)
  const { engine, networks, description } = await openPrograms(config, log, { isSuccessor, edgePort })
  const ready = { gateway: networks?.gateway ?? '127.0.0.1' }
  if (isSuccessor) {
    life.ready(ready)
    await life.takeOverRequested
  }
  const agent = await startAgent({
    clock: systemClock,
    log,
    version,
    path: files.agentSocket,
    engine,
    networks,
    logs: createLineLogs(files.logs),
    description,
    startDeadlineMs: config.startTimeout * 1000,
    idleMs: config.idleTimeout * 1000,
    awakeLimits: { apps: config.accountAwakeApps, memoryBytes: config.accountAppMemory },
    frozenLimits: { memoryBytes: config.sleepMemory, ageMs: config.sleepTimeout * 1000 },
    isSuccessor,
  })
  if (isSuccessor) life.tookOver()
  else life.ready(ready)
  await Promise.race([life.stopRequested, agent.replaced])
  await agent.stop(GRACE_MS)
  await networks?.close()
  life.leave()
}

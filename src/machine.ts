/** The machine as the control process uses it: what the agent runs programs with, and the tools that they get. */
import { chmod, stat } from 'node:fs/promises'
import type { AgentClient, BuildNetworks } from './agent/index.ts'
import { type Log, TENANT_UIDS } from './base/index.ts'
import { isUsableBy, openToolchains, type Toolchains } from './builds/index.ts'
import { machineEnvironment } from './config.ts'
import type { resources } from './contract/index.ts'
import type { Engine, Limits } from './engines/index.ts'
import type { Config } from './settings.ts'

/** What the service uses of them. */
type UsedToolchains = Omit<Toolchains, 'list' | 'unused'>

export type Machine = {
  engine: Engine
  networks: BuildNetworks | undefined
  toolchains: UsedToolchains
  /** Whether each environment's programs run as a user of its own. */
  canChooseUsers: boolean
  limits: { build: Limits; app: Limits }
  isolation: resources.Isolation
  close(): void
}

/** Reports what is missing to keep programs apart. */
export async function openMachine(
  config: Config,
  toolchainFolder: string,
  { agent, log }: { agent: AgentClient; log: Log },
): Promise<Machine> {
  const { dataDir } = config
  const { sandbox, sandboxMissing, limiter, network } = await agent.describe()
  const engine = agent.engine(sandbox)
  const toolchains = await openToolchains({
    folder: toolchainFolder,
    environment: machineEnvironment(),
    isIsolating: engine.isIsolating,
  })
  const canChooseUsers = await canUsersBeChosen(dataDir, engine, toolchains)
  const weaknesses = [
    ...(sandboxMissing === null ? [] : [`${sandboxMissing}: programs see the whole machine`]),
    ...(canChooseUsers ? [] : [oneUser(dataDir)]),
    ...('missing' in network ? [`${network.missing}: programs see the network of the machine`] : []),
    ...(limiter.kind === 'watchdog'
      ? ['no cgroup can be written: limits are checked several times a second, not enforced by the kernel']
      : []),
  ]
  if (weaknesses.length > 0) {
    const therefore = config.weakIsolation
      ? 'The setting weakIsolation lets several accounts build all the same.'
      : 'So it builds for a single account only.'
    log.warn(`This machine does not keep programs apart: ${weaknesses.join('; ')}. ${therefore} See: headland doctor`)
  }
  const hasNetworks = 'gateway' in network
  const obstacleCheck = hasNetworks
    ? setTimeout(warnOfObstacle, OBSTACLE_CHECK_AFTER_MS, agent.networks, log).unref()
    : undefined
  return {
    engine,
    networks: hasNetworks ? agent.networks : undefined,
    toolchains,
    canChooseUsers,
    limits: limitsOf(config),
    isolation: {
      sandbox: engine.description,
      layers: engine.overlayMissing === undefined ? 'overlay' : `none: ${engine.overlayMissing}`,
      limits: limiter.description,
      network: hasNetworks ? network.description : `that of the machine: ${network.missing}`,
      weaknesses,
    },
    close: () => clearTimeout(obstacleCheck),
  }
}

const oneUser = (dataDir: string): string =>
  process.getuid?.() === 0
    ? `programs run as root, since no other user can reach ${dataDir}, Node and npm`
    : "programs of all environments run as the service's own user"

/** The check takes a while, so the start does not wait for it. */
const OBSTACLE_CHECK_AFTER_MS = 5000

function warnOfObstacle(networks: BuildNetworks, log: Log) {
  networks.obstacle().then(
    (obstacle) => obstacle && log.warn(`builds and apps may not reach the internet: ${obstacle}`),
    (error) => log.warn({ err: error }, 'the check whether builds and apps reach the internet failed'),
  )
}

const OPEN_FILES = 65_536

/** Builds get less of the processors than apps, since visitors wait for apps. */
export function limitsOf(config: Config): Machine['limits'] {
  const { buildMemory, appMemory, processes, buildDisk, appDisk, buildFiles, appFiles } = config
  const both = { processes, openFiles: OPEN_FILES }
  return {
    build: {
      ...both,
      memoryBytes: buildMemory,
      cpuWeight: 50,
      fileBytes: buildDisk,
      diskBytes: buildDisk,
      diskFiles: buildFiles,
    },
    app: {
      ...both,
      memoryBytes: appMemory,
      cpuWeight: 100,
      fileBytes: appDisk,
      diskBytes: appDisk,
      diskFiles: appFiles,
    },
  }
}

async function canUsersBeChosen(dataDir: string, engine: Engine, toolchains: Toolchains): Promise<boolean> {
  if (process.getuid?.() !== 0) return false
  if (engine.isIsolating) return true
  const toolchain = await toolchains.open(toolchains.own())
  return letOthersPass(dataDir, () => isUsableBy(ANY_TENANT, toolchain, engine))
}

const ANY_TENANT = { uid: TENANT_UIDS.min, gid: TENANT_UIDS.min }

/** Lets other users pass through the data folder without listing it; undone where that does not help. */
async function letOthersPass(dataDir: string, helps: () => Promise<boolean>): Promise<boolean> {
  const { mode } = await stat(dataDir)
  await chmod(dataDir, mode | 0o011)
  if (await helps()) return true
  await chmod(dataDir, mode)
  return false
}

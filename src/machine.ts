/**
 * What this machine has to run other people's programs with: sandbox, limits, layers, networks, tools. Each is tried at the
 * start, and the log names what is missing. Chooses the adapter behind the interface of `engines/`.
 */
import { createHash } from 'node:crypto'
import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Log, TENANT_UIDS } from './base/index.ts'
import { isUsableBy, openToolchains, type Toolchains } from './builds/index.ts'
import { machineEnvironment } from './config.ts'
import type { resources } from './contract/index.ts'
import { type Engine, type Limits, type Networks, openLimiter, openNetworks } from './engines/index.ts'
import { openPlain } from './engines/plain.ts'
import { openSandbox } from './engines/sandbox/sandbox.ts'
import type { Config } from './settings.ts'

export type Machine = {
  engine: Engine
  networks: Networks | undefined
  toolchains: Toolchains
  /** Whether each environment's programs run as a user of its own. */
  canChooseUsers: boolean
  limits: { build: Limits; app: Limits }
  isolation: resources.Isolation
  close(): Promise<void>
}

export async function openMachine(config: Config, toolchainFolder: string, log: Log): Promise<Machine> {
  const { dataDir, bubblewrap } = config
  const limiter = await openLimiter({ name: shortDigest(dataDir) })
  await limiter.sweep({ endProcesses: true })
  const sandbox = await openSandbox({ bubblewrap, folder: dataDir, limiter })
  const isIsolating = 'start' in sandbox
  const engine = isIsolating ? sandbox : openPlain(limiter)
  const environment = machineEnvironment()
  const toolchains = await openToolchains({ folder: toolchainFolder, environment, isIsolating })
  const canChooseUsers = await canUsersBeChosen(dataDir, engine, toolchains)
  const networks = isIsolating ? await openJobNetworks(config, log) : { missing: 'there is no sandbox' }
  const networkMissing = 'missing' in networks ? networks.missing : undefined
  const weaknesses = [
    ...(isIsolating ? [] : [`${(sandbox as { missing: string }).missing}: programs see the whole machine`]),
    ...(canChooseUsers ? [] : [oneUser(dataDir)]),
    ...(networkMissing === undefined ? [] : [`${networkMissing}: programs see the network of the machine`]),
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
  const obstacleCheck =
    'open' in networks ? setTimeout(warnOfObstacle, OBSTACLE_CHECK_AFTER_MS, networks, log).unref() : undefined
  return {
    engine,
    networks: 'open' in networks ? networks : undefined,
    toolchains,
    canChooseUsers,
    limits: limitsOf(config),
    isolation: {
      sandbox: engine.description,
      layers: engine.overlayMissing === undefined ? 'overlay' : `none: ${engine.overlayMissing}`,
      limits: limiter.description,
      network: 'open' in networks ? networks.description : `that of the machine: ${networks.missing}`,
      weaknesses,
    },
    async close() {
      clearTimeout(obstacleCheck)
      if ('open' in networks) await networks.close()
    },
  }
}

const oneUser = (dataDir: string): string =>
  process.getuid?.() === 0
    ? `programs run as root, since no other user can reach ${dataDir}, Node and npm`
    : "programs of all environments run as the service's own user"

const MAX_SERVICES = 8

async function openJobNetworks({ dataDir, jobNetwork, blockedNetworks, allowedNetworks }: Config, log: Log) {
  const options = {
    settings: { range: jobNetwork, blocked: blockedNetworks, allowed: allowedNetworks },
    onProblem: (error: Error) =>
      log.error({ err: error }, 'the firewall rules of builds and apps could not be put in place'),
  }
  // Several services may work on one data folder; each has networks of its own.
  let networks = await openNetworks({ ...options, folder: dataDir })
  for (let count = 2; 'isTaken' in networks && count <= MAX_SERVICES; count++) {
    networks = await openNetworks({ ...options, folder: join(dataDir, `service-${count}`) })
  }
  if ('open' in networks && networks.swept > 0) log.info(`removed ${networks.swept} networks of services that died`)
  return networks
}

/** The check takes a while, so the start does not wait for it. */
const OBSTACLE_CHECK_AFTER_MS = 5000

function warnOfObstacle(networks: Networks, log: Log) {
  networks.obstacle().then(
    (obstacle) => obstacle && log.warn(`builds and apps may not reach the internet: ${obstacle}`),
    (error) => log.warn({ err: error }, 'the check whether builds and apps reach the internet failed'),
  )
}

const OPEN_FILES = 65_536

/** Builds get less of the processors than apps, since visitors wait for apps. */
function limitsOf(config: Config): Machine['limits'] {
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

/** Distinguishes this service from others on the machine. */
const shortDigest = (dataDir: string): string => createHash('sha256').update(dataDir).digest('hex').slice(0, 12)

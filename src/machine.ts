/**
 * What this machine has to run other people's programs with: sandbox, limits, layers, networks, tools. Everything is tried at
 * the start, and what is missing is said in so many words.
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
    ...(limiter.kind === 'watchdog' ? ['no cgroup can be written: limits are looked after, not held'] : []),
  ]
  if (weaknesses.length > 0) {
    const therefore = config.weakIsolation
      ? 'The setting weakIsolation lets several accounts build all the same.'
      : 'So it builds for a single account only.'
    log.warn(`This machine does not keep programs apart: ${weaknesses.join('; ')}. ${therefore} See: headland doctor`)
  }
  const looking = 'open' in networks ? setTimeout(tellObstacle, LOOK_AFTER_MS, networks, log).unref() : undefined
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
      clearTimeout(looking)
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
    onProblem: (error: Error) => log.error({ err: error }, 'the rules of the network could not be kept'),
  }
  // Two services may work on one data folder; each has networks of its own.
  let networks = await openNetworks({ ...options, folder: dataDir })
  for (let count = 2; 'isTaken' in networks && count <= MAX_SERVICES; count++) {
    networks = await openNetworks({ ...options, folder: join(dataDir, `service-${count}`) })
  }
  if ('open' in networks && networks.swept > 0) log.info(`removed ${networks.swept} networks of services that died`)
  return networks
}

/** It takes a while to find out, and nobody has to wait for it. */
const LOOK_AFTER_MS = 5000

function tellObstacle(networks: Networks, log: Log) {
  networks.obstacle().then(
    (obstacle) => obstacle && log.warn(`builds and apps may not reach the world: ${obstacle}`),
    (error) => log.warn({ err: error }, 'whether builds and apps reach the world could not be found out'),
  )
}

const OPEN_FILES = 65_536

/** A build gives way to the apps that visitors wait for. */
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

/** Others may go through the data folder from now on, without seeing what is in it; if that is of no use, they may not. */
async function letOthersPass(dataDir: string, isOfUse: () => Promise<boolean>): Promise<boolean> {
  const { mode } = await stat(dataDir)
  await chmod(dataDir, mode | 0o011)
  if (await isOfUse()) return true
  await chmod(dataDir, mode)
  return false
}

/** Tells this service from others on the machine. */
const shortDigest = (dataDir: string): string => createHash('sha256').update(dataDir).digest('hex').slice(0, 12)

/**
 * What this machine has to run other people's programs with: sandbox, limits, layers, networks. Each is tried at the start.
 * Chooses the adapter behind the interface of `engines/`.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { siteAccess } from './addresses.ts'
import type { MachineDescription } from './agent/index.ts'
import type { Log } from './base/index.ts'
import { type Engine, type Networks, openLimiter, openNetworks } from './engines/index.ts'
import { openPlain } from './engines/plain.ts'
import { openSandbox } from './engines/sandbox/sandbox.ts'
import type { Config } from './settings.ts'

type Circumstances = {
  /** Another agent of the same data folder is there, with networks of its own. */
  isSuccessor?: boolean
  /** The port that the edge listens on. */
  edgePort?: number
}

export async function openPrograms(
  config: Config,
  log: Log,
  { isSuccessor = false, edgePort = config.edgeListen.port }: Circumstances = {},
): Promise<Programs> {
  const { dataDir, bubblewrap } = config
  const limiter = await openLimiter({ name: shortDigest(dataDir) })
  await limiter.sweep({ endProcesses: true })
  const sandbox = await openSandbox({ bubblewrap, folder: dataDir, limiter })
  const isIsolating = 'start' in sandbox
  const engine = isIsolating ? sandbox : openPlain(limiter)
  const networks = isIsolating
    ? await openJobNetworks(config, log, { isSuccessor, edgePort })
    : { missing: 'there is no sandbox' }
  const { overlayMissing, description, limits } = engine
  return {
    engine,
    networks: 'open' in networks ? networks : undefined,
    description: {
      sandbox: { isIsolating, overlayMissing: overlayMissing ?? null, description, limits },
      sandboxMissing: isIsolating ? null : (sandbox as { missing: string }).missing,
      limiter: { kind: limiter.kind, description: limiter.description },
      network:
        'open' in networks
          ? { description: networks.description, gateway: networks.gateway }
          : { missing: networks.missing },
    },
  }
}

export type Programs = { engine: Engine; networks: Networks | undefined; description: MachineDescription }

async function openJobNetworks(config: Config, log: Log, { isSuccessor, edgePort }: Required<Circumstances>) {
  const { dataDir, jobNetwork, blockedNetworks, allowedNetworks } = config
  const options = {
    sites: siteAccess(config, edgePort),
    settings: { range: jobNetwork, blocked: blockedNetworks, allowed: allowedNetworks },
    onProblem: (error: Error) =>
      log.error({ err: error }, 'the firewall rules of builds and apps could not be put in place'),
  }
  // Networks are told apart by their folder. The name of this one is that of a process that is there.
  const folder = isSuccessor ? join(dataDir, 'agents', String(process.pid)) : dataDir
  const networks = await openNetworks({ ...options, folder })
  if ('open' in networks && networks.swept > 0) log.info(`removed ${networks.swept} networks of services that died`)
  return networks
}

/** Distinguishes this service from others on the machine. */
const shortDigest = (dataDir: string): string => createHash('sha256').update(dataDir).digest('hex').slice(0, 12)

/** What this machine can isolate and limit, what is missing, and what to do about it. Every finding comes from a trial. */
import { lookup } from 'node:dns/promises'
import { constants, existsSync } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import semver from 'semver'
import { bytesInWords } from '../base/index.ts'
import {
  isLocalhost,
  type NetworkSettings,
  networkProblem,
  openLimiter,
  overlayProblem,
  seccompProgram,
  trySandbox,
} from '../engines/index.ts'
import { gitProblem } from '../git/index.ts'
import type { RegistrySettings } from '../images/index.ts'
import { certificateFinding } from './certificates.ts'
import type { DataFolder, Finding } from './command.ts'
import { databaseFinding } from './database.ts'
import { objectStoreFindings } from './object-store.ts'
import { registryFindings } from './registry.ts'

const DISK_WANTED_BYTES = 2 * 1024 ** 3
const PROBE_TIMEOUT_MS = 10_000
const MAX_METRICS_BYTES = 4 * 1024 ** 2

export type Examined = {
  dataDir: string
  masterKeyFile: string
  bubblewrap: string
  network: NetworkSettings
  /** How the host names of environments end. */
  domain: string
  /** Of this package, and where a service that runs would be reached; undefined where that is not known. */
  version: string
  service: string | undefined
  folder: DataFolder
  /** Whether certificates are got by ACME. */
  hasAcme: boolean
  /** Undefined where none is set. */
  registry?: RegistrySettings | undefined
}

export async function examine(examined: Examined): Promise<Finding[]> {
  const { dataDir, masterKeyFile, bubblewrap, network, domain, folder, hasAcme } = examined
  const problem = networkProblem(network)
  const found = await Promise.all([
    nodeVersion(),
    versions(examined),
    user(),
    dataFolder(dataDir),
    databaseFinding(folder),
    diskSpace(dataDir),
    masterKey(masterKeyFile),
    sandbox(bubblewrap),
    layers(dataDir),
    limits(),
    systemCalls(),
    networks(problem),
    ownAddresses({ problem, domain }),
    git(),
    certificateFinding(folder, hasAcme),
  ])
  const stores = [await objectStoreFindings(folder), await registryFindings(examined.registry, examined.version)]
  return [...found, ...stores.flat()]
}

const ok = (part: string, found: string): Finding => ({ part, state: 'ok', found, advice: '' })
/** Messages of other programs may have several lines, and a finding is one row of a table. */
const weaker = (part: string, found: string, advice: string): Finding => ({
  part,
  state: 'weaker',
  found: found.replaceAll(/\s+/g, ' '),
  advice,
})
const broken = (part: string, found: string, advice: string): Finding => ({ part, state: 'broken', found, advice })

function nodeVersion(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return major >= 24
    ? ok('node', `version ${process.versions.node}`)
    : broken('node', `version ${process.versions.node}`, 'Start it with bin/headland, which brings Node 24.')
}

/** A running service keeps the version with which it was started, whatever was installed since. */
export async function versions({ version, service }: Pick<Examined, 'version' | 'service'>): Promise<Finding> {
  const metrics = service === undefined ? undefined : await metricsOf(service)
  if (!metrics?.includes('\nheadland_')) return ok('version', `${version}; no service answers at its address`)
  const running = /^headland_build_info\{version="([^"]{1,64})"\}/m.exec(metrics)?.[1] ?? '0.0.0'
  if (running === version) return ok('version', `${version}, which the service at ${service} runs too`)
  const shown = running === '0.0.0' ? 'one that does not report its version' : running
  const found = `${version} on the disk; the service at ${service} runs ${shown}`
  return semver.valid(running) && semver.lt(running, version)
    ? weaker(
        'version',
        found,
        'Restart the service, and it runs the newer one: systemctl restart headland, or as you start it.',
      )
    : weaker('version', found, 'Use the command that was installed with the service that runs.')
}

async function metricsOf(service: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${service}/metrics`, {
      redirect: 'error',
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of answer.body ?? []) {
      bytes += piece.length
      if (bytes > MAX_METRICS_BYTES) return undefined
      pieces.push(piece)
    }
    return Buffer.concat(pieces).toString('utf8')
  } catch {
    // Whatever the reason, no service answers there.
    return undefined
  }
}

function user(): Finding {
  if (process.platform !== 'linux') {
    return weaker('user', `${process.platform}, not Linux`, "Run it on Linux for other people's code.")
  }
  return process.getuid?.() === 0
    ? ok('user', 'root: each environment can have a user of its own')
    : weaker(
        'user',
        `uid ${process.getuid?.()}: all environments share this user`,
        'Run it as root to give each its own.',
      )
}

async function dataFolder(dataDir: string): Promise<Finding> {
  const found = await stat(dataDir).catch(() => undefined)
  if (!found) {
    return (await isWritable(dirname(dataDir)))
      ? ok('data folder', `${dataDir} (made at the first start)`)
      : broken('data folder', `${dataDir} cannot be made`, `Make it, or choose another with --data-dir.`)
  }
  if (!(await isWritable(dataDir))) {
    return broken(
      'data folder',
      `${dataDir} cannot be written`,
      `Give it to this user: chown -R "$(id -un)" ${dataDir}`,
    )
  }
  return found.mode & 0o077
    ? weaker('data folder', `${dataDir} can be read by others`, `chmod 700 ${dataDir}`)
    : ok('data folder', dataDir)
}

async function diskSpace(dataDir: string): Promise<Finding> {
  const space = await statfs(dataDir).catch(() => statfs(dirname(dataDir)).catch(() => undefined))
  if (!space) return weaker('disk', 'cannot be measured', 'Check the data folder first.')
  const freeBytes = space.bavail * space.bsize
  const found = `${bytesInWords(freeBytes)} free`
  return freeBytes > DISK_WANTED_BYTES
    ? ok('disk', found)
    : weaker('disk', found, `Free some: a build needs about ${bytesInWords(DISK_WANTED_BYTES)}.`)
}

async function masterKey(file: string): Promise<Finding> {
  const found = await stat(file).catch(() => undefined)
  if (!found) return ok('master key', 'none yet (made at the first start, or given by setting)')
  return found.mode & 0o077
    ? broken('master key', `${file} can be read by others`, `chmod 600 ${file}`)
    : ok('master key', `${file}; keep a copy apart from the data`)
}

async function sandbox(bubblewrap: string): Promise<Finding> {
  const way = await trySandbox(bubblewrap)
  if (!('missing' in way)) return ok('sandbox', way.description)
  return way.isInstalled
    ? weaker(
        'sandbox',
        way.missing.slice(0, 200),
        inContainer('SYS_ADMIN, SETUID, SETGID, seccomp=unconfined, apparmor=unconfined') ?? allowNamespaces,
      )
    : weaker('sandbox', way.missing, 'apt-get install bubblewrap')
}

async function git(): Promise<Finding> {
  const problem = await gitProblem()
  return problem === undefined
    ? ok('git', 'apps can be pushed to')
    : weaker('git', problem, 'apt install git; until then, apps are deployed by uploads only.')
}

const allowNamespaces = 'Allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1, or run as root.'

/** The privileges of a container are set when it is started. Docker and Podman each put a file into it. */
const inContainer = (lines: string): string | undefined =>
  ['/.dockerenv', '/run/.containerenv'].some((file) => existsSync(file))
    ? `Start the container with what compose.yaml gives it for this: ${lines}`
    : undefined

async function layers(dataDir: string): Promise<Finding> {
  const isThere = await stat(dataDir).then(
    (found) => found.isDirectory(),
    () => false,
  )
  const problem = await overlayProblem(isThere ? dataDir : tmpdir(), process.getuid?.() === 0)
  if (problem === undefined)
    return ok('layers', 'overlays work: installed packages are kept and attached without a copy')
  return weaker(
    'layers',
    `no overlays in the data folder, so packages are installed with every build: ${problem.slice(0, 200)}`,
    inContainer('a volume for the data, SYS_ADMIN, DAC_OVERRIDE') ??
      'Use a data folder on ext4 or xfs, and run as root or allow user namespaces.',
  )
}

async function limits(): Promise<Finding> {
  const { kind, description } = await openLimiter({ name: `doctor${process.pid}` })
  return kind === 'watchdog'
    ? weaker(
        'limits',
        description,
        inContainer('writable-cgroups=true, cgroup: private') ??
          'Run it as root, or let systemd delegate a cgroup: Delegate=yes.',
      )
    : ok('limits', description)
}

function systemCalls(): Finding {
  return seccompProgram()
    ? ok('system calls', 'a filter for each program')
    : weaker('system calls', `no filter for ${process.arch}`, 'Run it on a machine with x64 or arm64.')
}

async function networks(found: Promise<string | undefined>): Promise<Finding> {
  const problem = await found
  return problem === undefined
    ? ok('network', 'each build and app has a network of its own')
    : weaker(
        'network',
        problem,
        inContainer('NET_ADMIN, SYS_ADMIN, systempaths=unconfined') ??
          'Run it as root on Linux, with: apt-get install iproute2 nftables',
      )
}

type OwnAddresses = {
  /** Why builds and apps have no networks of their own. */
  problem: Promise<string | undefined>
  domain: string
  resolves?(name: string): Promise<boolean>
}

/** Whether apps can call sites by their names. In networks of their own, the service resolves the names for them. */
export async function ownAddresses({ problem, domain, resolves = isResolved }: OwnAddresses): Promise<Finding> {
  if ((await problem) === undefined)
    return ok('own addresses', 'builds and apps reach the sites under the names that visitors use')
  if (!isLocalhost(domain)) return ok('own addresses', `names under ${domain} are resolved as on this machine`)
  const name = `headland-check.${domain}`
  return (await resolves(name))
    ? ok('own addresses', `names under ${domain} lead to this machine, also in builds and apps`)
    : weaker(
        'own addresses',
        `${name} is not resolved on this machine, so an app cannot fetch its own address`,
        'apt-get install libnss-myhostname, or run it as root with networks for builds and apps.',
      )
}

const isResolved = (name: string): Promise<boolean> =>
  lookup(name).then(
    () => true,
    () => false,
  )

const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.W_OK).then(
    () => true,
    () => false,
  )

/** One running process of a deployment: started on a free port, and trusted once it answers. */
import { execFile } from 'node:child_process'
import { lstat, mkdir, realpath, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { randomToken, removeTree } from '../base/index.ts'
import {
  type Engine,
  heapWithin,
  type Job,
  type Limits,
  type Mount,
  type Networks,
  type Process,
} from '../engines/index.ts'
import type { LineLog } from '../storage/index.ts'
import { untilItAnswers } from './health.ts'
import { type Hooks, NO_HOOKS, openHooks } from './hooks.ts'
import { giveBackPort, takePort } from './ports.ts'

export type InstanceSpec = {
  deployment: string
  /** Whose it is. */
  owner: { account: string; environment: string }
  /** The output of the build, which the app sees as one read-only folder: the uppermost first. */
  layers: readonly string[]
  /** Where the folders are that the app may write to. */
  runFolder: string
  argv: readonly string[]
  /** Where it is started, in the output. */
  cwd: string
  /** Folders of commands that come before those of the toolchain. */
  binaries: readonly string[]
  writable: readonly string[]
  variables: Readonly<Record<string, string>>
  user: Job['user']
  /** The name that visitors will ask for: some apps refuse others. */
  hostHeader: string
  /** Node and what else it needs to run; fetched first, if that must be. */
  openToolchain(): Promise<Tools>
  log: LineLog
  limits: Limits
  /** Its process is in another state now. */
  onState?(): void
}

type Tools = { mounts: readonly Mount[]; path: string; environment: Readonly<Record<string, string>> }

export type Instance = { id: string; host: string; port: number; process: Process }

const APP = '/app'
const HOST = '127.0.0.1'

export async function startInstance(
  { engine, networks }: { engine: Engine; networks: Networks | undefined },
  spec: InstanceSpec,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Instance> {
  const tools = await spec.openToolchain()
  const hooks = await hooksOf(spec, engine)
  const seen = await seenBy(spec, [...tools.mounts, ...hooks.mounts])
  const place = await openPlace(networks)
  const process = await startAt(place, seen, environmentOf(spec, tools, hooks, place), engine, spec)
  const { host, port } = place
  try {
    await untilItAnswers({ process, host, port, hostHeader: spec.hostHeader, deadlineMs, signal })
  } catch (error) {
    await process.stop(0)
    throw error
  }
  return { id: randomToken(), host, port, process }
}

/** Where an app listens, and where that is reached from out here. */
type Place = { host: string; listen: string; port: number; network: Job['network']; leave(): Promise<void> }

/** In a network of its own the app has all ports to itself, and nobody but the service reaches it. */
async function openPlace(networks: Networks | undefined): Promise<Place> {
  if (networks) {
    const view = await networks.open('app', { callsService: true })
    return { host: view.address, listen: view.listen, port: OWN_PORT, network: view, leave: () => view.close() }
  }
  const port = await takePort()
  return { host: HOST, listen: HOST, port, network: undefined, leave: async () => giveBackPort(port) }
}

const OWN_PORT = 8080

/** The place is the process's own until it ends, however it ends. */
async function startAt(
  place: Place,
  seen: Pick<Job, 'mounts' | 'overlays'>,
  environment: Job['environment'],
  engine: Engine,
  spec: InstanceSpec,
): Promise<Process> {
  const job: Job = {
    argv: spec.argv,
    cwd: join(APP, spec.cwd),
    environment,
    ...seen,
    name: 'app',
    limits: spec.limits,
    ...(place.network ? { network: place.network } : {}),
    user: spec.user,
  }
  try {
    await spec.log.prepare()
    const process = await engine.start(job, (stream, chunk) => spec.log.write(stream, '', chunk))
    const exited = process.exited
      .then(async (exit) => {
        // What it wrote would end its successor, too: that one begins as the build left it.
        if (exit.excess?.includes('disk')) await removeTree(join(spec.runFolder, 'own'))
        return exit
      })
      .finally(() => {
        spec.log.rest()
        return place.leave()
      })
    // Whoever asks is told; nobody has to.
    exited.catch(() => undefined)
    return { ...process, exited }
  } catch (error) {
    spec.log.rest()
    await place.leave()
    throw error
  }
}

/** They are for the better: an app runs without them too. */
async function hooksOf({ variables, runFolder, log }: InstanceSpec, { isIsolating }: Engine): Promise<Hooks> {
  try {
    return await openHooks({ variables, runFolder, isIsolating })
  } catch (error) {
    log.write('stderr', '', Buffer.from(`headland: started without what it loads for the edge's cache: ${error}\n`))
    return NO_HOOKS
  }
}

/** Every server listens to one of these names. */
function environmentOf(
  { variables, binaries, limits }: InstanceSpec,
  tools: Tools,
  hooks: Hooks,
  { port, listen }: Place,
): Record<string, string> {
  const { NODE_OPTIONS } = { ...heapWithin(limits), ...variables }
  return {
    ...variables,
    NODE_OPTIONS: [NODE_OPTIONS, ...hooks.options].join(' '),
    PATH: [...binaries, tools.path].join(':'),
    HOME: '/tmp',
    TMPDIR: '/tmp',
    LANG: 'C.UTF-8',
    NODE_ENV: 'production',
    ...tools.environment,
    NEXT_TELEMETRY_DISABLED: '1',
    PORT: String(port),
    HOST: listen,
    HOSTNAME: listen,
    NITRO_HOST: listen,
  }
}

/** Its output as one folder, and over it the folders that it writes to, which begin as the build left them. */
async function seenBy(
  { layers, runFolder, writable }: InstanceSpec,
  more: readonly Mount[],
): Promise<Pick<Job, 'mounts' | 'overlays'>> {
  const [only = '', ...below] = layers
  const at = join(runFolder, 'all')
  if (below.length > 0) await mkdir(at, { recursive: true, mode: 0o755 })
  const mounts: Mount[] = [{ from: below.length > 0 ? at : only, to: APP, isWritable: false }]
  for (const folder of writable) {
    const from = await layersWith(layers, folder)
    // There is nothing to mount over where the build left no folder: one that is missing, a file, or a link, which would
    // be followed out here and lead anywhere.
    if (from.length === 0) continue
    const own = join(runFolder, 'own', folder)
    if (!(await isFolder(join(runFolder, 'own'), folder))) await copyOver(from, own)
    mounts.push({ from: own, to: join(APP, folder), isWritable: true })
  }
  return { mounts: [...mounts, ...more], overlays: below.length > 0 ? [{ at, layers }] : [] }
}

/** A folder in each layer that has it. One that has something else in its place hides what lies below. */
async function layersWith(layers: readonly string[], folder: string): Promise<string[]> {
  const found: string[] = []
  for (const layer of layers) {
    if (await isFolder(layer, folder)) found.push(join(layer, folder))
    else if (await lstat(join(layer, folder)).catch(absent)) break
  }
  return found
}

/** The lowest first. cp keeps owners, and clones instead of copying where the file system can. */
async function copyOver(folders: readonly string[], target: string) {
  const draft = `${target}.new`
  await removeTree(draft)
  await mkdir(dirname(target), { recursive: true, mode: 0o755 })
  for (const folder of folders.toReversed()) await promisify(execFile)('cp', ['-aT', '--reflink=auto', folder, draft])
  await rename(draft, target)
}

/** Whether there is a folder at that path, reached without a link. */
async function isFolder(top: string, path: string): Promise<boolean> {
  const full = join(top, path)
  const found = await lstat(full).catch(absent)
  if (!found?.isDirectory()) return false
  return (await realpath(full)) === join(await realpath(top), path)
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}

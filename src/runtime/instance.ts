/** One running process of a deployment: started on a free port, and trusted once it answers. */
import { execFile } from 'node:child_process'
import { lstat, mkdir, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { randomToken } from '../base/index.ts'
import type { Engine, Job, Limits, Mount, Process } from '../engines/index.ts'
import type { LineLog } from '../storage/index.ts'
import { untilItAnswers } from './health.ts'
import { giveBackPort, takePort } from './ports.ts'

export type InstanceSpec = {
  deployment: string
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
}

type Tools = { mounts: readonly Mount[]; path: string; environment: Readonly<Record<string, string>> }

export type Instance = { id: string; host: string; port: number; process: Process }

const APP = '/app'
const HOST = '127.0.0.1'

export async function startInstance(
  engine: Engine,
  spec: InstanceSpec,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Instance> {
  const tools = await spec.openToolchain()
  const seen = await seenBy(spec, tools)
  const port = await takePort()
  const process = await startOn(port, seen, tools, engine, spec)
  try {
    await untilItAnswers({ process, host: HOST, port, hostHeader: spec.hostHeader, deadlineMs, signal })
  } catch (error) {
    await process.stop(0)
    throw error
  }
  return { id: randomToken(), host: HOST, port, process }
}

/** The port is the process's own until it ends, however it ends. */
async function startOn(
  port: number,
  seen: Pick<Job, 'mounts' | 'overlays'>,
  tools: Tools,
  engine: Engine,
  spec: InstanceSpec,
): Promise<Process> {
  const job: Job = {
    argv: spec.argv,
    cwd: join(APP, spec.cwd),
    environment: environmentOf(spec, tools, port),
    ...seen,
    name: 'app',
    limits: spec.limits,
    user: spec.user,
  }
  const giveBack = () => giveBackPort(port)
  try {
    const process = await engine.start(job, (stream, chunk) => spec.log.write(stream, '', chunk))
    process.exited.then(giveBack, giveBack)
    return process
  } catch (error) {
    giveBack()
    throw error
  }
}

/** Every server listens to one of these names. */
function environmentOf({ variables, binaries }: InstanceSpec, tools: Tools, port: number): Record<string, string> {
  return {
    ...variables,
    PATH: [...binaries, tools.path].join(':'),
    HOME: '/tmp',
    TMPDIR: '/tmp',
    LANG: 'C.UTF-8',
    NODE_ENV: 'production',
    ...tools.environment,
    NEXT_TELEMETRY_DISABLED: '1',
    PORT: String(port),
    HOST,
    HOSTNAME: HOST,
    NITRO_HOST: HOST,
  }
}

/** Its output as one folder, and over it the folders that it writes to, which begin as the build left them. */
async function seenBy(
  { layers, runFolder, writable }: InstanceSpec,
  tools: Tools,
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
  return { mounts: [...mounts, ...tools.mounts], overlays: below.length > 0 ? [{ at, layers }] : [] }
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
  await rm(draft, { recursive: true, force: true })
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

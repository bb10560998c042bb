/** One running process of a deployment: started on a free port, and ready once it answers. */
import { lstat, mkdir } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { randomToken, removeTree } from '../base/index.ts'
import {
  checkInner,
  checkTenant,
  type Engine,
  type Exit,
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
  /** Which of several instances of the deployment it is; the first has no number. */
  ordinal?: number
  /** The build whose output it is. */
  build: string
  owner: { account: string; environment: string }
  /** The output of the build, which the app sees as one read-only folder: the uppermost first. */
  layers: readonly string[]
  /** Where the folders are that the app may write to. */
  runFolder: string
  argv: readonly string[]
  /** The working directory, relative to the output. */
  cwd: string
  /** Folders that come before those of the toolchain in PATH. */
  binaries: readonly string[]
  writable: readonly string[]
  variables: Readonly<Record<string, string>>
  user: Job['user']
  /** The host name that visitors use: some apps refuse others. */
  hostHeader: string
  /** Node and what else it needs to run; downloaded first where it is missing. */
  openToolchain(): Promise<Tools>
  log: LineLog
  limits: Limits
  /** Called when the state of its process has changed. */
  onState?(): void
  /** What was revalidated in its environment, in the format that the hook files read. Called at each start. */
  expiries?(): Promise<string>
  /** Called when everything that it had written was removed, so that it begins as the build left it. */
  onReset?(): Promise<void>
}

export type Tools = {
  node: string
  mounts: readonly Mount[]
  path: string
  environment: Readonly<Record<string, string>>
}

export type Instance = { id: string; host: string; port: number; process: Process }

const APP = '/app'
const HOST = '127.0.0.1'

export async function startInstance(
  { engine, networks }: { engine: Engine; networks: Networks | undefined },
  spec: InstanceSpec,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Instance> {
  check(spec)
  const tools = await spec.openToolchain()
  const hooks = await hooksOf(spec, tools, engine)
  const files = await filesOf(spec, [...tools.mounts, ...hooks.mounts])
  const endpoint = await openEndpoint(networks)
  const environment = environmentOf(spec, tools, hooks, endpoint)
  const process = await startAt(endpoint, { engine, spec, files, environment })
  const { host, port } = endpoint
  try {
    await untilItAnswers({ process, host, port, hostHeader: spec.hostHeader, deadlineMs, signal })
  } catch (error) {
    await process.stop(0)
    throw error
  }
  return { id: randomToken(), host, port, process }
}

/** Program, user and folders come out of the database, which is not trusted: they are checked before anything is made. */
function check({ user, cwd, argv: [program = ''], writable }: InstanceSpec) {
  checkTenant(user)
  checkInner(cwd, 'the folder to start in')
  if (program.includes('/')) checkInner(program, 'the program to start')
  outermost(writable)
}

/** The address that an app listens on (`listen`), and the one at which the service reaches it (`host`). */
type AppEndpoint = { host: string; listen: string; port: number; network: Job['network']; release(): Promise<void> }

/** In a network namespace of its own the app has all ports to itself, and only the service reaches it. */
async function openEndpoint(networks: Networks | undefined): Promise<AppEndpoint> {
  if (networks) {
    const port = networks.appPort
    const network = await networks.open('app', { callsService: true, port })
    return { host: network.address, listen: network.listen, port, network, release: () => network.close() }
  }
  const port = await takePort()
  return { host: HOST, listen: HOST, port, network: undefined, release: async () => giveBackPort(port) }
}

type Start = {
  engine: Engine
  spec: InstanceSpec
  files: Pick<Job, 'mounts' | 'overlays'>
  environment: Job['environment']
}

/** The endpoint is released when the process has ended, however it ends. */
async function startAt(
  { network, release }: AppEndpoint,
  { engine, spec, files, environment }: Start,
): Promise<Process> {
  const job: Job = {
    argv: spec.argv,
    cwd: join(APP, spec.cwd),
    environment,
    ...files,
    name: 'app',
    limits: spec.limits,
    ...(network ? { network } : {}),
    user: spec.user,
  }
  try {
    await spec.log.prepare()
    const process = await engine.start(job, (stream, chunk) => spec.log.write(stream, '', chunk))
    const exited = process.exited
      .then(async (exit) => {
        // The files that it wrote would bring the next process over the limit too, so that one begins as the build left it.
        if (isOverDisk(exit)) {
          await removeTree(join(spec.runFolder, 'own'))
          await spec.onReset?.()
        }
        return exit
      })
      .finally(() => {
        spec.log.rest()
        return release()
      })
    // A caller that awaits it still gets the error; without one the rejection must not be unhandled.
    exited.catch(() => undefined)
    return { ...process, exited }
  } catch (error) {
    spec.log.rest()
    await release()
    throw error
  }
}

/** Whether it was ended because of the files that it had written. They are removed then. */
export const isOverDisk = ({ excess = [] }: Exit): boolean =>
  excess.some((limit) => limit === 'disk' || limit === 'fullDisk')

/** An app runs without hooks, too: an error is written to its log. */
async function hooksOf(
  { variables, runFolder, log, expiries }: InstanceSpec,
  { node }: Tools,
  { isIsolating }: Engine,
): Promise<Hooks> {
  try {
    return await openHooks({ node, variables, runFolder, isIsolating, ...(expiries ? { expiries } : {}) })
  } catch (error) {
    log.write('stderr', '', Buffer.from(`headland: started without the hook for the edge's cache: ${error}\n`))
    return NO_HOOKS
  }
}

/** Frameworks read the address to listen on from one of HOST, HOSTNAME and NITRO_HOST. */
function environmentOf(
  { variables, binaries, limits }: InstanceSpec,
  tools: Tools,
  hooks: Hooks,
  { port, listen }: AppEndpoint,
): Record<string, string> {
  const { NODE_OPTIONS } = { ...heapWithin(limits), ...variables }
  return {
    ...variables,
    NODE_OPTIONS: [NODE_OPTIONS, ...hooks.options].join(' '),
    PATH: [...binaries, tools.path].join(':'),
    HOME: '/tmp',
    TMPDIR: '/tmp',
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
async function filesOf(
  { layers, runFolder, writable, user }: InstanceSpec,
  more: readonly Mount[],
): Promise<Pick<Job, 'mounts' | 'overlays'>> {
  const [only = '', ...below] = layers
  const at = join(runFolder, 'all')
  if (below.length > 0) await mkdir(at, { recursive: true, mode: 0o755 })
  const own = join(runFolder, 'own')
  const inner = outermost(writable).map((path) => ({ path, from: join(own, path), ...(user ? { uid: user.uid } : {}) }))
  for (const { path } of inner) await makeParents(own, path)
  const tree: Mount = { from: below.length > 0 ? at : only, to: APP, isWritable: false, inner }
  return { mounts: [tree, ...more], overlays: below.length > 0 ? [{ at, layers }] : [] }
}

/** Of nested folders the outer ones only: the app writes everything in them, so nothing is mounted inside. */
export function outermost(writable: readonly string[]): string[] {
  const paths = [...new Set(writable.map((path) => checkInner(normalize(path), 'a writable folder')))]
  if (paths.includes('.')) throw new Error('an app may not write to all of its own output')
  return paths.filter((path) => !paths.some((other) => other !== path && path.startsWith(`${other}/`)))
}

/** Makes the folders above one that the app writes to. They belong to the service, so none of them can be a link. */
export async function makeParents(own: string, path: string) {
  const steps = [own, ...dirname(path).split('/')]
  for (let count = 1; count <= steps.length; count++) {
    const folder = join(...steps.slice(0, count))
    await mkdir(folder, { recursive: count === 1, mode: 0o755 }).catch(isThere)
    if (!(await lstat(folder)).isDirectory()) throw new Error(`${folder} is not a folder`)
  }
}

function isThere(error: NodeJS.ErrnoException) {
  if (error.code !== 'EEXIST') throw error
}
